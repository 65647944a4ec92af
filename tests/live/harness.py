"""What the live tests share: running the program under test, scratch folders, reading a little of an ELF file."""
import atexit
import collections
import contextlib
import functools
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "corpus", "amd64")
PT_GNU_STACK, PT_GNU_RELRO, PT_GNU_SFRAME = 0x6474E551, 0x6474E552, 0x6474E554
EHDR_SIZE, PHDR_SIZE, SHDR_SIZE = 64, 56, 64

# A shell lets what it runs in the background ignore these, and what is tested would inherit that.
for number in signal.SIGINT, signal.SIGQUIT:
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)

# Under sudo, programs would be recorded with the rights of who called it, and not with root's.
for name in "SUDO_UID", "SUDO_GID":
    os.environ.pop(name, None)

# sframe-trace would say on standard error how many files these servers might have.
os.environ.pop("DEBUGINFOD_URLS", None)

program = None  # path of sframe-gen, absolute; main() sets it
LONG = os.environ.get("SFRAME_GEN_LONG") == "1"  # of what is much alike, all, and not a part (tools/test --long)

Result = collections.namedtuple("Result", "status out err")
Segment = collections.namedtuple("Segment", "type flags offset vaddr paddr filesz memsz align")
Section = collections.namedtuple("Section", "name type flags addr offset size")


def main():
    """First argument: sframe-gen. The others are unittest's. A tool that is missing is an error, never a skip."""
    global program
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit(f"usage: {sys.argv[0]} SFRAME-GEN [unittest's arguments]")
    program = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)


def tool(name):
    """What Debian's packages bring, whatever else there is: a rustc of rustup does not run without its user's settings."""
    path = shutil.which(name, path="/usr/bin:/usr/sbin:" + os.environ.get("PATH", ""))
    if path is None:
        raise FileNotFoundError(f"this test needs {name}, which is not installed")
    return path


def run(*command, timeout=300, **options):
    """Output is decoded so that any byte survives."""
    options.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run([os.fspath(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=timeout, text=True, encoding="utf-8", errors="surrogateescape", check=False,
                          **options)
    return Result(done.returncode, done.stdout, done.stderr)


def sframe_gen(*arguments, **options):
    return run(program_for_all() if "user" in options else program, *arguments, **options)


@functools.cache
def program_for_all():
    """A copy of the program: a build below root's home folder is nothing that another user can run."""
    folder = scratch("program")
    atexit.register(shutil.rmtree, folder)
    os.chmod(folder, 0o755)
    return shutil.copy(program, folder)


def need(result):
    """The output of a command that only prepares a test and so must work."""
    if result.status != 0:
        raise RuntimeError(f"status {result.status}: {result.err}{result.out}")
    return result.out


def read(path):
    with open(path, "rb") as file:
        return file.read()


def state_of(pid):
    """"S" and who traces it."""
    text = read(f"/proc/{pid}/status").decode(errors="replace")
    return re.search(r"State:\s+(\S)", text)[1], int(re.search(r"TracerPid:\s+(\d+)", text)[1])


def wait_for(condition, seconds=30):
    """What a busy machine takes its time for. The condition's last word."""
    until = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < until:
        time.sleep(0.01)
    return met


def come_to_rest(pid):
    """Until no thread of a process that has said "ready" runs any more."""
    def at_rest():
        # A thread may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            return all(state_of(f"{pid}/task/{thread}")[0] != "R" for thread in os.listdir(f"/proc/{pid}/task"))
        return False
    time.sleep(0.01)  # for one that other threads wake
    if not wait_for(at_rest):
        raise RuntimeError(f"process {pid} does not come to rest")


def scratch(prefix):
    """An empty folder: whoever asks for it removes it."""
    return tempfile.mkdtemp(prefix=prefix)


def place_in_memory():
    """A folder for thousands of small files, None where there is none. For each new file, ext4 walks over the inodes of all
    that were deleted there in the last minutes: these files would make everything slow that comes after them."""
    place = "/dev/shm"
    return place if os.access(place, os.W_OK) and shutil.disk_usage(place).free >= 50_000_000 else None


def scratch_of_module(prefix):
    """An empty folder for all tests of a module, to be asked for in setUpModule."""
    folder = scratch(prefix)
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    return folder


def write(path, content):
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return path


def fields(form, content, offset):
    """In the byte order of the ELF file."""
    return struct.unpack_from((">" if content[5] == 2 else "<") + form, content, offset)


def segments(content):
    offset, count = fields("Q", content, 32)[0], fields("H", content, 56)[0]
    return [Segment(*fields("IIQQQQQQ", content, offset + i * PHDR_SIZE)) for i in range(count)]


def sections(content):
    offset = fields("Q", content, 40)[0]
    count, names_index = fields("HH", content, 60)
    if offset == 0:  # there are none
        return {}
    first = fields("IIQQQQI", content, offset)
    count, names_index = count or first[5], names_index if names_index != 0xFFFF else first[6]  # SHN_XINDEX
    headers = [fields("IIQQQQ", content, offset + i * SHDR_SIZE) for i in range(count)]
    names = headers[names_index][4]

    def name_at(at):
        return content[names + at:content.index(b"\0", names + at)].decode()

    return {name_at(h[0]): Section(name_at(h[0]), *h[1:]) for h in headers}


def without_section_headers(content):
    """As sstrip makes it: what no program header names is cut off behind the last that one does."""
    kept = [s for s in segments(content) if s.type not in (0, PT_GNU_RELRO)]
    end = max([EHDR_SIZE + len(segments(content)) * PHDR_SIZE] + [s.offset + s.filesz for s in kept])
    stripped = bytearray(content[:end])
    stripped[40:48], stripped[60:64] = bytes(8), bytes(4)
    return bytes(stripped)


def section_bytes(content, name):
    section = sections(content)[name]
    return content[section.offset:section.offset + section.size]


class Case(unittest.TestCase):
    """A test with an empty folder of its own."""

    maxDiff = 8000
    place = None  # where the folder is, if not among other temporary ones

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sframe-gen-live-", dir=self.place)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def tiny(self, name="tiny", case="callee-saves"):
        """A copy of a program of the corpus: some 5 KB, ready to be converted."""
        return shutil.copy(os.path.join(CORPUS, case, "plain.elf"), self.path(name))

    def compile(self, name, source, *options, compiler="gcc"):
        suffix = ".cpp" if compiler.endswith("++") else ".c"
        text = write(self.path(name + suffix), source)
        need(run(tool(compiler), "-o", self.path(name), text, *options))
        return self.path(name)

    def assert_has_sframe(self, path):
        """One .sframe section that one PT_GNU_SFRAME describes and a PT_LOAD loads."""
        content = read(path)
        section = sections(content).get(".sframe")
        self.assertIsNotNone(section, f"{path} has no .sframe")
        found = [s for s in segments(content) if s.type == PT_GNU_SFRAME]
        self.assertEqual([(s.vaddr, s.offset, s.filesz, s.memsz) for s in found],
                         [(section.addr, section.offset, section.size, section.size)], path)
        self.assertTrue(any(s.type == 1 and s.offset <= section.offset and s.vaddr - s.offset ==
                            section.addr - section.offset and section.offset + section.size <= s.offset + s.filesz
                            for s in segments(content)), f"{path}: no PT_LOAD loads .sframe")

    def assert_done(self, result):
        self.assertEqual((result.status, result.err), (0, ""))

    def assert_fails(self, result, file, *words):
        """Status 1 and one clear line that names the file; no word of the program's own innards."""
        self.assertEqual(result.status, 1, result)
        self.assertRegex(result.err, r"\Asframe-gen: error: [^\n]+\n\Z")
        self.assertIn(f"error: {file}: ", result.err)
        for word in words:
            self.assertIn(word, result.err)
