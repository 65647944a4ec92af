"""What is done to a converted file by those who come after us. Each must leave a file that still works."""
import os
import re

from harness import read, run, tool, write
from matrix.subject import Problem

# Each changes the file in place.
TOOLS = {"strip": ["strip"], "strip -g": ["strip", "-g"], "objcopy": ["objcopy"], "llvm-strip": ["llvm-strip"],
         "llvm-objcopy": ["llvm-objcopy"], "eu-strip": ["eu-strip"], "dwz": ["dwz"],
         "patchelf": ["patchelf", "--set-rpath", "$ORIGIN:/nowhere/" + "x" * 100]}
CROSS_TOOLS = ("strip", "objcopy")
SPLIT = "split, gdb"
# gdb speaks of its own settings, of scripts that Go and Rust name, and of the system's debug files.
NO_FAULT = ("libthread_db", "/usr/lib/debug", "auto-load")
# objcopy --only-keep-debug lays out the segments of a file without contents, and nobody reads these. Where notes stand
# behind other sections of their segment, it says this and goes on.
ONLY_TALK = ("can't be allocated in segment", "LOAD: ")


def is_only_talk(said):
    return all(any(part in line for part in ONLY_TALK) for line in said.splitlines())


class Died(Problem):
    """A tool was ended by a signal. patchelf 0.14 reads outside its memory on what mold links without PIE, and lives or
    dies by where the kernel has put it: of one file, 21 times of 100."""


# So many that a tool which dies one time in five is not taken for one that never does.
TRIES = 50


class Talk(Exception):
    """A tool has done its work, and printed a warning that it does not print without us."""


def apply_tool(subject, name):
    """Raises Problem where the tool fails; what it says on the way is returned."""
    command = TOOLS[name]
    program = subject.target.tool(command[0]) if command[0] in CROSS_TOOLS else command[0]
    done = run(tool(program), *command[1:], subject.path)
    said = (done.err + done.out).replace(subject.path, "…").replace(subject.folder, "…").strip()
    said = re.sub(r"…/st\w{6}\b", "…", said)  # their temporary files
    if done.status != 0:
        kind = Died if done.status < 0 else Problem
        raise kind(f"{name}: status {done.status}: {said.splitlines()[-1] if said else ''}")
    return said


def apply_until_it_lives(subject, name):
    """As apply_tool, but a tool that dies gets more tries, each on the file as it was."""
    before = read(subject.path)
    for _ in range(TRIES - 1):
        try:
            return apply_tool(subject, name)
        except Died:
            write(subject.path, before)
    return apply_tool(subject, name)


def apply_until_it_dies(subject, name):
    """As apply_tool, but a tool that lives has to do so each time."""
    before = read(subject.path)
    for _ in range(TRIES - 1):
        apply_tool(subject, name)
        write(subject.path, before)
    return apply_tool(subject, name)


def split_debug(subject):
    """As packagers do: a debug file beside the program, and the program without."""
    debug = subject.path + ".debug"
    objcopy = subject.target.tool("objcopy")
    said = ""
    for command in ([objcopy, "--only-keep-debug", subject.path, debug],
                    [subject.target.tool("strip"), "--strip-debug", "--strip-unneeded", subject.path],
                    [objcopy, "--add-gnu-debuglink=" + debug, subject.path]):
        done = run(tool(command[0]), *command[1:])
        said += done.err
        if done.status != 0:
            raise Problem(f"{os.path.basename(command[0])}: status {done.status}: {done.err.strip()}"
                          .replace(subject.folder, "…"))
    return said.replace(subject.folder, "…")


def backtrace(subject, function):
    """The functions on the stack where gdb stops, from the innermost; gdb's own warnings are a problem."""
    done = run(tool("gdb"), "-nx", "-batch", "-ex", "set confirm off", "-ex", "set breakpoint pending on",
               "-ex", f"break {function}", "-ex", "run", "-ex", "backtrace 30", "-ex", "kill", subject.program,
               env={**os.environ, "DEBUGINFOD_URLS": ""}, timeout=120)
    frames = []
    for line in done.out.splitlines():
        if line.startswith("#"):
            words = line.split(" in ", 1)[-1].split()
            frames.append(words[0] if " in " in line else words[1])
    warnings = [line.replace(subject.folder, "…") for line in (done.err + done.out).splitlines()
                if "warning" in line.lower() and not any(word in line for word in NO_FAULT)]
    if warnings or not frames:
        raise Problem(f"gdb: {warnings or done.err.strip().splitlines()[-1:]}")
    return frames
