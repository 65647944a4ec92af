"""The machines that the matrix can build for. Another machine is another Target: a cross compiler, the cross binutils
and, in front of each program, what runs it."""
import dataclasses
import os

PROBE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "programs", "probe")


@dataclasses.dataclass(frozen=True)
class Target:
    name: str
    cc: str
    cxx: str
    linkers: tuple
    kinds: tuple = ("pie", "exec", "static", "static-pie", "dso")
    binutils: str = ""  # prefix of strip, objcopy and readelf
    runner: tuple = ()  # qemu-user and its options
    has_gdb: bool = True
    others: tuple = ()  # programs that are not built from the probe's C and C++

    def tool(self, name):
        return self.binutils + name


AMD64 = Target("amd64", "gcc", "g++", linkers=("bfd", "gold", "lld", "mold"),
               others=("go-exec", "go-pie", "rust-pie", "rust-exec", "rust-static", "rust-lld", "musl-pie", "musl-exec",
                       "musl-static", "musl-static-pie", "bolt-exec", "bolt-pie"))
# Not in the gate: an emulator takes its time. There is no gold, lld or mold that links for them with these compilers, and
# s390x's glibc has no start file for static-pie.
AARCH64, S390X = (Target(machine, f"{machine}-linux-gnu-gcc", f"{machine}-linux-gnu-g++", linkers=("bfd",), kinds=kinds,
                         binutils=f"{machine}-linux-gnu-",
                         runner=(f"qemu-{machine}", "-L", f"/usr/{machine}-linux-gnu"), has_gdb=False)
                  for machine, kinds in (("aarch64", ("pie", "exec", "static", "static-pie", "dso")),
                                         ("s390x", ("pie", "exec", "static", "dso"))))
TARGETS = {target.name: target for target in (AMD64, AARCH64, S390X)}
