"""Stacks of sframe-trace beside those of `perf script`, of one recording."""
import collections
import functools
import json
import mmap
import os
import re
import struct

from common import need
import harness
import perf_data

NO_PC = 0xFFFFFFFFFFFFFFFF  # perf's mark for a frame whose caller could not be found
MOST_FRAMES = "4096"
CHAIN = 56  # places in a body: of a sample, its call chain; of a mapping, its rights
RIGHTS = 56
PT_LOAD, EXECUTABLE = 1, 4
OF_DATA = 1 << 13  # PERF_RECORD_MISC_MMAP_DATA
Ours = collections.namedtuple("Ours", "stack whole reason")


def stacks_of_perf(recording, *options):
    """PCs within their page, and files, of each sample. perf prints callers' PCs less one."""
    text = need("perf", "script", "--no-inline", "--max-stack", MOST_FRAMES, "-F", "comm,tid,time,ip,dso", "-i", recording, *options)
    samples = []
    for line in text.splitlines():
        if re.match(r"^\S.*\d+\.\d+:\s*$", line):
            samples.append([])
        elif frame := re.match(r"^\s+([0-9a-f]+) \((.*)\)$", line):
            # Where names of just-in-time code would be.
            file = "//anon" if re.fullmatch(r"/tmp/perf-\d+\.map", frame[2]) else frame[2]
            samples[-1].append((int(frame[1], 16), file))
    return [[(pc & 0xFFF, file) for pc, file in stack if pc != NO_PC] for stack in samples]


def stacks_of_ours(text):
    """The same, of what --json prints."""
    samples = []
    for sample in map(json.loads, text.splitlines()):
        stack = [(int(frame["pc"], 16) & 0xFFF, "[kernel.kallsyms]") for frame in sample["kernel"]]
        for number, frame in enumerate(sample.get("frames", [])):
            stack.append((int(frame["pc"], 16) - (number > 0) & 0xFFF, frame.get("file", "[unknown]")))
        samples.append(Ours(stack, sample.get("whole", True), sample.get("cut", {}).get("reason", "")))
    return samples


def as_perf_has(stack, perf):
    """A function that a signal interrupted is named by its next instruction, and was made to look like a caller here."""
    return [(own[0] + 1 & 0xFFF, own[1]) if own != other == (own[0] + 1 & 0xFFF, own[1]) and number else own
            for number, (own, other) in enumerate(zip(stack, perf))] + stack[len(perf):]


def kind_of(ours, perf):
    ours = ours._replace(stack=as_perf_has(ours.stack, perf))
    if ours.stack == perf:
        return "the same"
    if ours.stack[:len(perf)] == perf:
        return "perf's ends earlier" + (", ours is whole" if ours.whole else "")
    if perf[:len(ours.stack)] == ours.stack:
        return "ours ends earlier"
    return "they differ"


@functools.cache
def parts_of(path):
    """(address, place in the file, size, flags) of what is loaded of a file, in whole pages."""
    loads = [segment for segment in harness.segments(harness.read(path)) if segment.type == PT_LOAD]
    return [(part.vaddr & ~0xFFF, part.offset & ~0xFFF, (part.filesz + (part.vaddr & 0xFFF) + 0xFFF) & ~0xFFF, part.flags) for part in loads]


def with_data(body):
    """Records like that of a mapping of code, of the rest of its file: perf 6.1 looks for .eh_frame_hdr in mappings."""
    _, _, begin, _, offset = struct.unpack_from("<IIQQQ", body)
    rights, = struct.unpack_from("<I", body, RIGHTS)
    path = body[RIGHTS + 8:body.index(b"\0", RIGHTS + 8)].decode(errors="surrogateescape")
    if not rights & EXECUTABLE or not os.path.isfile(path):
        return []
    parts = parts_of(path)
    biases = [begin - address for address, at, _, flags in parts if at == offset and flags & 1]
    return [body[:8] + struct.pack("<QQQ", biases[0] + address, size, at) + body[32:RIGHTS] + struct.pack("<I", 1) + body[RIGHTS + 4:]
            for address, at, size, flags in parts if biases and not flags & 1]


def body_for_perf(body):
    """Marks take the place of the callers that the kernel has found by frame pointers."""
    count, = struct.unpack_from("<Q", body, CHAIN - 8)
    entries = struct.unpack_from(f"<{count}Q", body, CHAIN)
    if perf_data.IN_USER not in entries:
        return body
    first = entries.index(perf_data.IN_USER)
    return body[:CHAIN + 8 * first] + struct.pack("<Q", perf_data.IN_USER) * (count - first) + body[CHAIN + 8 * count:]


def write_for_perf(raw, path):
    """Writes a recording of `sframe-trace record` as perf can walk it: without callers that the kernel has found, which perf prints
    before those that it finds in the stack."""
    with open(raw, "rb") as file, open(path, "wb") as out, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
        begin, = struct.unpack_from("<Q", content, 40)
        out.write(content[:begin])

        def write(kind, misc, body):
            out.write(struct.pack("<IHH", kind, misc, 8 + len(body)) + body)
        for kind, misc, body in perf_data.records_of(content):
            write(kind, misc, body_for_perf(body) if kind == perf_data.SAMPLE else body)
            if kind == perf_data.MMAP2:
                for data in with_data(body):
                    write(kind, misc | OF_DATA, data)
        size = out.tell() - begin
        out.seek(48)
        out.write(struct.pack("<Q32x", size))  # what describes the recording is left out
