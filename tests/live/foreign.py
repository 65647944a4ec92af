"""Other machines than this one: how to compile for them, and to run what was compiled."""
import collections
import os

from harness import run, tool

# debian: its name there; triplet: of its tools; versions: those of the format that have an ABI for it.
Machine = collections.namedtuple("Machine", "name debian triplet emulator versions")
AARCH64 = Machine("aarch64", "arm64", "aarch64-linux-gnu", "qemu-aarch64", ("3", "2", "1", "ctf"))
S390X = Machine("s390x", "s390x", "s390x-linux-gnu", "qemu-s390x", ("3", "2"))
AARCH64_BIG = AARCH64._replace(name="aarch64_be", emulator="qemu-aarch64_be")
# Those of --for: gnu-ld-2.45 and java-profiler are for --check only.
READERS = {"kernel": "3", "glibc": "2", "gnu-ld": "3", "gnu-ld-2.44": "2", "gnu-ld-2.40": "1",
           "libsframe": "3", "libsframe-2.44": "2", "libsframe-2.40": "1", "mold": "3", "llvm-readelf": "2"}
# Of version 2 before its errata, s390x among them.
READERS_BEFORE_ERRATA = {"gnu-ld-2.44", "libsframe-2.44"}
# Programs whose output is the same on each machine.
CROSS_SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cross")
SECTION_OF = {"3": ".sframe", "2": ".sframe", "1": ".sframe", "ctf": ".ctf_frame"}


def compiler(machine, language="gcc"):
    return tool(f"{machine.triplet}-{language}")


def run_on(machine, program, *arguments, root=None, emulator=(), **options):
    """Under the emulator, with the loader and libraries below `root`; the cross compiler's without."""
    return run(tool(machine.emulator), *emulator, "-L", root or f"/usr/{machine.triplet}", program, *arguments, **options)
