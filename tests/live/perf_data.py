"""Reads the records of recordings, and writes what `perf record --call-graph dwarf` would have, of a process that gdb has
made a core file of: so a test knows the stacks, and needs no permission to record."""
import ctypes
import os
import platform
import struct
import subprocess

import harness

MMAP, SAMPLE, MMAP2, COMM, EXIT, FORK, COMPRESSED, COMPRESSED_PADDED = 1, 9, 10, 3, 4, 7, 81, 83
LOST, LOST_SAMPLES, DEFERRED = 2, 13, 22
HEADER_ATTR, TRACING_DATA, BUILD_ID, FINISHED_ROUND, ID_INDEX, AUXTRACE, HEADER_FEATURE = 64, 66, 67, 68, 69, 71, 80
KERNEL, USER, EXEC, FOUND, HAS_BUILD_ID = 1, 2, 1 << 13, 1 << 13, 1 << 14
# ax bx cx dx si di bp sp ip flags cs ss, r8 to r15 of asm/perf_regs.h, as places in struct user_regs_struct.
REGISTERS = {0: 10, 1: 5, 2: 11, 3: 12, 4: 13, 5: 14, 6: 4, 7: 19, 8: 16, 9: 18, 10: 17, 11: 20,
             16: 9, 17: 8, 18: 7, 19: 6, 20: 3, 21: 2, 22: 1, 23: 0}
MASK = sum(1 << number for number in REGISTERS)
IP, TID, TIME, CALLCHAIN, PERIOD, RAW, REGS_USER, STACK_USER, WEIGHT = 1, 2, 4, 32, 256, 1024, 4096, 8192, 1 << 14
IDENTIFIER = 1 << 16

SAMPLE_ID_ALL, EXCLUDE_CALLCHAIN_USER = 1 << 18, 1 << 22
IN_KERNEL, IN_GUEST, IN_USER, USER_DEFERRED, FIRST_MARK = ((1 << 64) - number for number in (128, 2048, 512, 640, 4095))
DEFER_CALLCHAIN, DEFER_OUTPUT = 1 << 38, 1 << 39


class Core:
    """Threads, memory and mapped files of a core file."""

    def __init__(self, path):
        self.content = harness.read(path)
        self.threads, self.files = [], []  # (number, registers); (begin, end, offset, path)
        self.loads = [s for s in harness.segments(self.content) if s.type == 1]
        for segment in harness.segments(self.content):
            if segment.type == 4:
                self._read_notes(segment.offset, segment.offset + segment.filesz)

    def _read_notes(self, at, end):
        while at < end:
            name, size, kind = struct.unpack_from("<III", self.content, at)
            body = at + 12 + (name + 3) // 4 * 4
            if kind == 1:
                self.threads.append((struct.unpack_from("<I", self.content, body + 32)[0],
                                     struct.unpack_from("<27Q", self.content, body + 112)))
            elif kind == 0x46494C45:
                count, page = struct.unpack_from("<QQ", self.content, body)
                names = self.content[body + 16 + 24 * count:body + size].split(b"\0")
                for i in range(count):
                    begin, stop, offset = struct.unpack_from("<QQQ", self.content, body + 16 + 24 * i)
                    self.files.append((begin, stop, offset * page, names[i].decode()))
            at = body + (size + 3) // 4 * 4

    def memory(self, address, size):
        for load in self.loads:
            if load.vaddr <= address < load.vaddr + load.filesz:
                at = load.offset + address - load.vaddr
                return self.content[at:at + min(size, load.filesz - (address - load.vaddr))]
        return b""


def padded(text):
    text = text.encode() + b"\0"
    return text + bytes(-len(text) % 8)


def records_of(content):
    """Type, flags and body of each record of a file."""
    begin, size = struct.unpack_from("<QQ", content, 40)
    at = begin
    while at < begin + size:
        kind, misc, length = struct.unpack_from("<IHH", content, at)
        yield kind, misc, content[at + 8:at + length]
        at += length


def chains_of(path):
    """(process, thread, time, PCs in the kernel, PCs of the program) of each sample that sframe-trace recorded, sorted."""
    found = []
    for kind, _, body in records_of(harness.read(path)):
        if kind != SAMPLE:
            continue
        process, thread, moment, _, _, count = struct.unpack_from("<IIQQQQ", body, 16)
        parts, now = {IN_KERNEL: [], IN_USER: []}, None
        for entry in struct.unpack_from(f"<{count}Q", body, 56):
            now = parts[entry] if entry >= FIRST_MARK else now.append(entry) or now
        found.append((process, thread, moment, tuple(parts[IN_KERNEL]), tuple(parts[IN_USER])))
    return sorted(found)


class Recording:
    """Records in the order of the file; time_of orders them."""

    TYPE = IP | TID | TIME | CALLCHAIN | PERIOD | REGS_USER | STACK_USER
    FLAGS = SAMPLE_ID_ALL

    def __init__(self):
        self.records = []

    def add(self, kind, misc, body):
        self.records.append(struct.pack("<IHH", kind, misc, 8 + len(body)) + body)

    def trailer(self, pid, tid, time):
        return struct.pack("<IIQ", pid, tid, time)

    def map(self, pid, time, begin, end, offset, path, build_id=None, inode=0, rights=5):
        identity = struct.pack("<IIQQ", 0, 0, inode, 0)
        if build_id is not None:
            identity = (struct.pack("<BBH", len(build_id), 0, 0) + build_id).ljust(24, b"\0")
        body = struct.pack("<IIQQQ", pid, pid, begin, end - begin, offset) + identity + struct.pack("<II", rights, 2)
        self.add(MMAP2, USER | (HAS_BUILD_ID if build_id is not None else 0),
                 body + padded(path) + self.trailer(pid, pid, time))

    def kernel(self, function, address):
        """Where the kernel lay, as perf says it before all others."""
        self.add(MMAP, KERNEL, struct.pack("<iiQQQ", -1, 0, address, 1 << 24, address) +
                 padded("[kernel.kallsyms]" + function) + self.trailer(0, 0, 0))

    def comm(self, pid, tid, time, name, is_exec=False):
        self.add(COMM, EXEC if is_exec else 0, struct.pack("<II", pid, tid) + padded(name) + self.trailer(pid, tid, time))

    def fork(self, pid, parent, tid, parent_tid, time, is_found=False):
        """`is_found`: perf has written it of a thread that ran before (PERF_RECORD_MISC_FORK_EXEC)."""
        self.add(FORK, FOUND if is_found else 0, struct.pack("<IIIIQ", pid, parent, tid, parent_tid, time) + self.trailer(pid, tid, time))

    def exit(self, pid, tid, time):
        self.add(EXIT, 0, struct.pack("<IIIIQ", pid, 1, tid, 1, time) + self.trailer(pid, tid, time))

    def sample(self, pid, tid, time, registers, stack, room, kernel=(), misc=USER, user=()):
        chain = [IN_KERNEL, *kernel, IN_USER, *(user or [registers[16]])] if kernel else [IN_USER, *user] if user else []
        body = struct.pack("<QIIQQQ", registers[16], pid, tid, time, 1, len(chain)) + struct.pack(f"<{len(chain)}Q", *chain)
        values = [registers[REGISTERS[number]] for number in sorted(REGISTERS)]
        body += struct.pack(f"<Q{len(values)}Q", 2, *values)
        kept = stack[:room]
        body += struct.pack("<Q", room) + kept.ljust(room, b"\0") + struct.pack("<Q", len(kept))
        self.add(SAMPLE, misc, body)

    def chain(self, pid, tid, time, pc, entries, misc=USER):
        """A sample of a recording without REGS_USER and STACK_USER."""
        self.add(SAMPLE, misc, struct.pack(f"<QIIQQQ{len(entries)}Q", pc, pid, tid, time, 1, len(entries), *entries))

    def deferred(self, pid, tid, time, cookie, entries):
        """What a sample of that cookie waits for (perf record --call-graph fp,defer)."""
        self.add(DEFERRED, USER, struct.pack(f"<QQ{len(entries)}Q", cookie, len(entries), *entries) + self.trailer(pid, tid, time))

    def attribute(self):
        return struct.pack("<IIQQQQQIIQQQQIiQIHH", 1, 112, 0, 1, self.TYPE, 0, self.FLAGS, 0, 0, 0, 0, 0, MASK, 8192, 0, 0, 0, 0, 0)

    def data(self, compressed):
        data = b"".join(self.records)
        if not compressed:
            return data
        packed = subprocess.run([harness.tool("zstd"), "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
        parts = [packed[at:at + 1000] for at in range(0, len(packed), 1000)]
        if compressed == "padded":  # as perf of 6.15 and later has it
            return b"".join(struct.pack("<IHHQ", COMPRESSED_PADDED, 0, 16 + len(part) + -len(part) % 8, len(part)) + part +
                            bytes(-len(part) % 8) for part in parts)
        return b"".join(struct.pack("<IHH", COMPRESSED, 0, 8 + len(part)) + part for part in parts)

    def pipe(self, compressed=False, machine="x86_64"):
        """As perf writes to a pipe: events and features are records, and two kinds are followed by more than their size
        counts."""
        def record(kind, body):
            return struct.pack("<IHH", kind, 0, 8 + len(body)) + body
        feature = struct.pack("<Q", 6) + struct.pack("<I", len(padded(machine))) + padded(machine)
        trace = b"tracing data".ljust(24, b"\0")
        auxiliary = struct.pack("<QQQIIII", 40, 0, 0, 0, 0, 0, 0)
        return (struct.pack("<8sQ", b"PERFILE2", 16) + record(HEADER_ATTR, self.attribute() + struct.pack("<Q", 7))
                + record(HEADER_FEATURE, feature) + record(TRACING_DATA, struct.pack("<II", len(trace), 0)) + trace
                + record(ID_INDEX, bytes(8)) + self.data(compressed) + record(AUXTRACE, auxiliary) + b"\xff" * 40
                + record(FINISHED_ROUND, b""))

    def content(self, compressed=False, machine="x86_64", events=None):
        """`events`: (attribute, IDs) of each; one without IDs if there are none."""
        data = self.data(compressed)
        events = events or [(self.attribute(), [])]
        entry = len(events[0][0]) + 16
        table = 104 + 8 * sum(len(ids) for _, ids in events)  # after the IDs
        begin = table + entry * len(events)
        text = padded(machine)
        feature = struct.pack("<I", len(text)) + text
        end = begin + len(data)
        header = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, entry, table, entry * len(events),
                             begin, len(data), 0, 0) + struct.pack("<4Q", 1 << 6, 0, 0, 0)
        numbers, entries = b"", b""
        for attribute, ids in events:
            entries += attribute + struct.pack("<QQ", 104 + len(numbers), 8 * len(ids))
            numbers += struct.pack(f"<{len(ids)}Q", *ids)
        return header + numbers + entries + data + struct.pack("<QQ", end + 16, len(feature)) + feature


def kernel_lets_record():
    """Asked of the kernel itself: the program's own failure is no reason to test less."""
    number = {"x86_64": 298, "aarch64": 241}[platform.machine()]
    attributes = struct.pack("<IIQQQQQ", 1, 128, 0, 1000000, 1, 0, 1).ljust(128, b"\0")  # cpu-clock, disabled
    file = ctypes.CDLL(None).syscall(number, attributes, 0, -1, -1, 0)
    if file >= 0:
        os.close(file)
    return file >= 0
