"""What many tools do: a command line, running, measuring and building programs, and fetching packages. After it is imported,
the modules of tests/live are found as well."""
import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[1]
RELEASE = TOP / "build/release"
DOWNLOADS = pathlib.Path(os.environ.get("SFRAME_GEN_DOWNLOADS", TOP / "build"))
Result = collections.namedtuple("Result", "status out err")
Measured = collections.namedtuple("Measured", "status out err seconds processors peak")  # processors: seconds; peak: bytes of a process

sys.path.insert(0, str(TOP / "tests/live"))


def parser_of(description, program=None):
    """For a tool whose head is its description. With a name of a program, it has --program: by default, the release's."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if program:
        parser.add_argument("--program", type=os.path.abspath, default=str(RELEASE / program))
    return parser


def options_of_root(parser):
    """The options, if root has given them."""
    options = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("needs root")
    return options


def run(*command, timeout=None, **options):
    """Status and output of a command, which may fail."""
    done = subprocess.run([os.fspath(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", timeout=timeout, check=False, **options)
    return Result(done.returncode, done.stdout, done.stderr)


def need(*command, **options):
    """What a command prints. Ends the tool if the command fails."""
    done = run(*command, **options)
    if done.status != 0:
        sys.exit(f"{' '.join(map(str, command))}: status {done.status}\n{done.err}{done.out}")
    return done.out


def measured(*command, limit=None, **options):
    """Runs a command, and what it cost with all that it waits for. It is killed after `limit` seconds."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        process = subprocess.Popen([os.fspath(part) for part in command], stdin=subprocess.DEVNULL, stdout=out, stderr=err, **options)
        timer = threading.Timer(limit or 0, process.kill)
        if limit:
            timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Measured(process.returncode, out.read().decode(errors="replace"), err.read().decode(errors="replace"), seconds,
                        usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def need_measured(*command, **options):
    """The same, of a command that must not fail."""
    done = measured(*command, **options)
    if done.status != 0:
        sys.exit(f"{' '.join(map(str, command))}: status {done.status}\n{done.err}")
    return done


def build(*targets):
    """Of the release."""
    subprocess.run(["cmake", "--build", RELEASE, "--target", *targets], check=True, stdout=subprocess.DEVNULL)


def fetch(tool, *arguments):
    """By a tool of tools/fetching. What is there is left alone."""
    subprocess.run([TOP / "tools/fetching" / tool, *arguments], check=True, stdout=subprocess.DEVNULL)


def download(packages, folder):
    """Unpacks packages of the machine's own suites into FOLDER/PACKAGE. Prints what apt says of those that it does not have."""
    with tempfile.TemporaryDirectory(dir=folder) as archives:
        done = run("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *packages, cwd=archives)
        if done.status != 0:
            print(done.err.strip(), file=sys.stderr)
        for archive in pathlib.Path(archives).glob("*.deb"):
            run("dpkg-deb", "-x", archive, pathlib.Path(folder, archive.name.split("_")[0]))
