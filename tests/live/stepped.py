"""Programs that are run one instruction at a time: by ptrace on this machine, by an emulator's gdb stub for others."""
import collections
import ctypes
import os
import signal
import socket
import struct
import subprocess
import time

from harness import tool

# order: of bytes; pc, sp, fp, ra: their places among the registers that are read; cfa_over_sp: what the ABI adds to a
# caller's stack pointer; call_sizes: of the instructions that call.
Machine = collections.namedtuple("Machine", "name debian prefix order pc sp fp ra cfa_over_sp call_sizes")
# struct user_regs_struct of <sys/user.h>
AMD64 = Machine("amd64", "amd64", "", "little", 16, 19, 4, None, 0, (5, 6))
# what qemu's stub sends: gdb-xml/aarch64-core.xml, and PSW before the general registers of s390x
AARCH64 = Machine("aarch64", "arm64", "aarch64-linux-gnu-", "little", 32, 31, 29, 30, 0, (4,))
S390X = Machine("s390x", "s390x", "s390x-linux-gnu-", "big", 1, 17, 13, 16, 160, (6,))
# So that what is above a frame can be read without asking where the stack ends.
ENVIRONMENT = {"ROOM": "x" * 4096}
PTRACE_TRACEME, PTRACE_CONT, PTRACE_SINGLESTEP, PTRACE_GETREGS, PTRACE_SETREGS = 0, 7, 9, 12, 13


class Stepped:
    """A program that has stopped at an instruction: its `pc`, `sp`, `fp` and, where calls leave it there, `ra`."""

    def __init__(self, machine):
        self.machine = machine
        self.pc = self.sp = self.fp = self.ra = None

    def take(self, registers):
        machine = self.machine
        self.pc, self.sp, self.fp = registers[machine.pc], registers[machine.sp], registers[machine.fp]
        self.ra = None if machine.ra is None else registers[machine.ra]

    def word(self, address):
        return int.from_bytes(self.bytes(address, 8), self.machine.order)


class Traced(Stepped):
    """By ptrace."""

    def __init__(self, program):
        super().__init__(AMD64)
        self.ptrace_ = ctypes.CDLL(None, use_errno=True).ptrace
        self.ptrace_.restype = ctypes.c_long
        self.ptrace_.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.registers = (ctypes.c_uint64 * 27)()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.ptrace(PTRACE_TRACEME)
                os.execve(program, [program], ENVIRONMENT)
            finally:
                os._exit(127)
        self.wait()

    def ptrace(self, request, data=None):
        if self.ptrace_(request, self.pid if request != PTRACE_TRACEME else 0, None, data) != 0:
            raise OSError(ctypes.get_errno(), f"ptrace request {request}")

    def wait(self):
        _, status = os.waitpid(self.pid, 0)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            self.pid = None
            raise EOFError(f"the program has ended: {status}")
        if os.WSTOPSIG(status) != signal.SIGTRAP:
            raise OSError(f"stopped by signal {os.WSTOPSIG(status)}")
        self.ptrace(PTRACE_GETREGS, self.registers)
        self.take(self.registers)

    def step(self):
        self.ptrace(PTRACE_SINGLESTEP)
        self.wait()

    def bytes(self, address, size):
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(size)

    def write(self, address, content):
        with open(f"/proc/{self.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(address)
            memory.write(content)

    def run_to(self, address):
        there = self.bytes(address, 1)
        self.write(address, b"\xcc")
        self.ptrace(PTRACE_CONT)
        self.wait()
        self.write(address, there)
        self.registers[self.machine.pc] -= 1
        self.ptrace(PTRACE_SETREGS, self.registers)
        self.take(self.registers)

    def finish(self):
        """Lets it go on, and returns its status."""
        self.ptrace(PTRACE_CONT)
        pid, self.pid = self.pid, None
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def close(self):
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


class Emulated(Stepped):
    """By as much of gdb's remote protocol as single steps take, over a socket that has a name below `folder`."""

    def __init__(self, machine, program, folder, options=()):
        super().__init__(machine)
        listener = os.path.join(folder, "gdb")
        if os.path.exists(listener):
            os.remove(listener)
        root = f"/usr/{machine.prefix[:-1]}"
        self.emulator = subprocess.Popen([tool(f"qemu-{machine.name}"), *options, "-g", listener, "-L", root, program],
                                         env=ENVIRONMENT, stdin=subprocess.DEVNULL)
        self.socket = self.connect(listener)
        self.stream = self.socket.makefile("rb")

    def connect(self, listener):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(30)
            try:
                connection.connect(listener)
                return connection
            except OSError:
                connection.close()
                time.sleep(0.01)
        raise TimeoutError("the emulator does not listen")

    def ask(self, text):
        self.socket.sendall(f"${text}#{sum(text.encode()) % 256:02x}".encode())
        while (byte := self.stream.read(1)) != b"$":
            if not byte:
                raise EOFError(text)
        answer = bytearray()
        while (byte := self.stream.read(1)) not in (b"#", b""):
            answer += byte
        self.stream.read(2)
        self.socket.sendall(b"+")
        return answer.decode()

    def read(self):
        content = bytes.fromhex(self.ask("g")[:16 * 33])
        order = "<" if self.machine.order == "little" else ">"
        self.take(struct.unpack_from(f"{order}{len(content) // 8}Q", content))

    def step(self):
        self.ask("s")
        self.read()

    def bytes(self, address, size):
        answer = self.ask(f"m{address:x},{size:x}")
        if len(answer) != 2 * size:
            raise OSError(f"{size} bytes at {address:#x}: {answer}")
        return bytes.fromhex(answer)

    def run_to(self, address):
        kind = 2 if self.machine is S390X else 4
        if self.ask(f"Z0,{address:x},{kind}") != "OK":
            raise OSError("no breakpoint")
        self.ask("c")
        self.ask(f"z0,{address:x},{kind}")
        self.read()

    def finish(self):
        """Lets it go on, and returns its status."""
        answer = self.ask("c")
        if answer[:1] != "W":
            raise OSError(f"stopped: {answer}")
        return int(answer[1:3], 16)

    def close(self):
        self.stream.close()
        self.socket.close()
        self.emulator.kill()
        self.emulator.wait()
