"""What --check=glibc says of good and bad sections, beside what glibc's reader finds in them; for tools/glibc-backtrace."""
import collections
import concurrent.futures
import json
import os
import subprocess

from damaged_sections import CHANGED_ROWS, bases, cases, changed
from elf_with_section import CODE, CODE_SIZE, SECTION, linked

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {7: "sp", 6: "fp"}  # by DWARF number
RANGE = (str(SECTION), str(CODE), str(CODE + CODE_SIZE))
# Why --check says another thing than the look-ups show. Base → case.
NO_ABI = "it asks for none, and what is x86-64's but for that byte comes out right"
# --check stops at rows that begin within the index, which glibc would misread.
GIVES_UP = "it does not see that the index and the rows overlap, and gives up at what it then takes for a row"
DIFFERENCES = {"2": {"another ABI": NO_ABI}, "2 old": {"another ABI": NO_ABI}, "3": {"version 2 of a version 3": GIVES_UP}}


def build_lookup(source, built, work):
    """The program that asks, linked with what glibc was built of."""
    program = os.path.join(work, "glibc-lookup")
    subprocess.run(["gcc", "-O1", "-I" + HERE, "-I" + os.path.join(source, "sysdeps", "generic"), "-Dlibc_hidden_proto(name)=",
                    "-Wa,--noexecstack", "-w", "-o", program, os.path.join(HERE, "glibc_lookup.c"),
                    os.path.join(built, "elf", "sframe-read.os")], check=True, stderr=subprocess.PIPE)
    return program


def rows_of_ours(sframe_gen, path):
    """PC → what its row says, or nothing if our own reader does not take the section."""
    done = subprocess.run([sframe_gen, "--dump=json", path], capture_output=True, text=True, check=False)
    if done.returncode != 0 or "remark" in done.stderr:
        return None
    found = {}
    for function in json.loads(done.stdout)["descriptors"]:
        start = int(function["start"], 16)
        for pc in range(start, start + function["size"]):
            offset = (pc - start) % function.get("repeat_size", 1 << 32)
            row = [row for row in function["rows"] if row["offset"] <= offset][-1:]
            if row and "cfa" in row[0]:
                cfa, frame_pointer = row[0]["cfa"], row[0].get("frame_pointer")
                found[pc] = (f"{NAMES.get(cfa['base'], 'another')} {cfa['offset']} -8 "
                             f"{'-' if frame_pointer is None else frame_pointer['offset']}")
    return found


def outcome(done, expected):
    """ "accepts" if each PC comes out right."""
    if done.returncode != 0:
        return "misreads"
    if done.stdout.startswith("refused"):
        return "refuses"
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    if "gives up" in found.values():
        return "refuses"
    found = {int(pc): row for pc, row in found.items() if row != "none"}
    if found == expected:
        return "accepts"
    return "refuses" if found.items() <= expected.items() else "misreads"


class Reader:
    def __init__(self, sframe_gen, lookup, work):
        self.sframe_gen, self.lookup, self.work = sframe_gen, lookup, work
        self.bases = bases(os.path.join(HERE, "..", ".."))

    def answer(self, number, case):
        """Of --check, why, and of glibc; nothing of glibc where it is not known what is right."""
        path, good, section = (os.path.join(self.work, f"{number}.{name}") for name in ("case", "good", "section"))
        base = self.bases[case.base]
        for name, content in ((path, linked(base.machine, changed(base.bytes, case.change))),
                              (good, linked(base.machine, base.bytes)), (section, changed(base.bytes, case.change))):
            with open(name, "wb") as file:
                file.write(content)
        said = subprocess.run([self.sframe_gen, "--check=glibc", "--report=json", path], capture_output=True, text=True,
                              check=False)
        verdict, = json.loads(said.stdout)["readers"]
        done = subprocess.run([self.lookup, section, *RANGE], capture_output=True, text=True, check=False, timeout=60)
        expected = rows_of_ours(self.sframe_gen, path)
        if expected is None and case.name in CHANGED_ROWS and not done.stdout.startswith("refused"):
            return verdict["verdict"], verdict.get("why", ""), None
        if case.name == "no functions":
            expected = {}
        elif expected is None:
            expected = rows_of_ours(self.sframe_gen, good)
        return verdict["verdict"], verdict.get("why", ""), outcome(done, expected)


def compare(sframe_gen, source, built, work):
    """Prints the numbers and what differs. Returns how many do, without a reason."""
    folder = os.path.join(work, "sections")
    os.makedirs(folder)
    reader = Reader(sframe_gen, build_lookup(source, built, work), folder)
    every = [case for case in cases(os.path.join(HERE, "..", "..")) if reader.bases[case.base].machine == "amd64"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(reader.answer, range(len(every)), every))
    numbers, bad, listed = collections.Counter(), 0, 0
    for case, (said, why, did) in zip(every, answers):
        numbers[said if did is not None else "not judged"] += 1
        reason = DIFFERENCES.get(case.base, {}).get(case.name)
        listed += reason is not None
        if did is not None and (said != did) != (reason is not None):
            bad += 1
            print(f"DIFFERENT: SFrame {case.base}, {case.name}: --check says {said}: {why}; it {did}")
    print(f"--check=glibc of {len(every)} sections: "
          + ", ".join(f"{count} {what}" for what, count in sorted(numbers.items()))
          + f"; {bad} are not what its reader does, {listed} have a reason to differ")
    unused = listed != sum(len(of_base) for of_base in DIFFERENCES.values())
    return bad + unused + (len(every) < 60)
