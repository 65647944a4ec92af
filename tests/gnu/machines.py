"""The machines SFrame knows, and the files for each that readers are given."""
import collections
import glob
import os
import re

from toolbox import LIBRARIES

# prefix: of the cross compiler and of binutils' tools. libraries: Debian's, where it has them.
Machine = collections.namedtuple("Machine", "name prefix libraries options")
MACHINES = [
    Machine("amd64", "", LIBRARIES, ["-Wl,-z,lazy"]),
    Machine("aarch64", "aarch64-linux-gnu-", "/usr/aarch64-linux-gnu/lib", ["-mbranch-protection=standard"]),
    # There is no C library for it: a library with undefined symbols is all that can be linked.
    Machine("aarch64_be", "aarch64-linux-gnu-", None,
            ["-mbranch-protection=pac-ret+leaf+b-key", "-mbig-endian", "-fPIC", "-shared", "-nostdlib"]),
    Machine("s390x", "s390x-linux-gnu-", "/usr/s390x-linux-gnu/lib", []),
]
BIG_ENDIAN = ("aarch64_be", "s390x")


def frames_program(box, machine, *options):
    """tests/programs/frames.c, compiled."""
    path = box.file("-".join(["frames", machine.name, *(option.strip("-") for option in options)]))
    # In two steps, as the headers of the C library refuse big-endian AArch64.
    box.compile(machine.prefix + "gcc", "-O2", "-E", "-o", path + ".i",
                os.path.join(box.source, "tests/programs/frames.c"))
    box.compile(machine.prefix + "gcc", "-O2", "-w", *machine.options, *options, "-o", path, path + ".i")
    return path


def system_libraries(machine):
    """C and C++: much code, some of it in assembly."""
    if machine.libraries:
        for name in ("libc.so.6", "libstdc++.so.6"):
            yield os.path.join(machine.libraries, name)


def corpus_files(box):
    """Machine and path of each plain.elf of the corpus."""
    machines = {machine.name: machine for machine in MACHINES}
    for folder in sorted(glob.glob(os.path.join(box.source, "corpus/*/*/"))):
        with open(os.path.join(folder, "case.txt"), encoding="utf-8") as file:
            name = re.search(r"(?m)^machine: (\S+)$", file.read())
        yield machines[name[1] if name else "amd64"], os.path.join(folder, "plain.elf")
