"""What eu-elflint says of a converted file and did not say of the original."""
import collections
import re
import struct
import subprocess

from sweeping import elf_files

PT_LOAD, PF_W = 1, 2
# PT_GNU_SFRAME and SHT_GNU_SFRAME, which elfutils of Debian 12 does not know: it says the same of what GNU as writes.
PROGRAM_HEADER = re.compile(r"program header entry \d+: unknown program header entry type 0x6474e554")
RELOCATIONS = re.compile(r"section \[ *\d+\] '\.rela\.sframe': invalid destination section type")
SECTION = re.compile(r"section \[ *\d+\] '\.sframe' has unsupported type 1879048180")
# eu-elflint takes every relocation for one that copies its symbol, and so as long as that: a slot of .got for a large
# function seems to reach into the read-only segment behind, though it is 8 bytes in a writable one.
TEXT_RELOCATION = re.compile(r"section \[ *(\d+)\] '\.rela[^']*': relocation (\d+): "
                             "read-only section modified but text relocation flag not set")
NUMBER = re.compile(r"\[ *\d+\]|\b(0x[0-9a-f]+|\d+)\b")


def is_of_writable_place(path, line):
    """Whether the complaint is of a text relocation, and the relocation of x86-64 changes nothing read-only."""
    found = TEXT_RELOCATION.fullmatch(line)
    if not found:
        return False
    section, index = map(int, found.groups())
    with open(path, "rb") as file:
        if file.read(6)[4:] != b"\x02\x01":
            return False
        file.seek(40)
        file.seek(struct.unpack("<Q", file.read(8))[0] + 64 * section + 24)
        file.seek(struct.unpack("<Q", file.read(8))[0] + 24 * index)
        place = struct.unpack("<Q", file.read(8))[0]
        return any(kind == PT_LOAD and flags & PF_W and address <= place and place + 8 <= address + size
                   for kind, flags, _, address, _, _, size, _ in elf_files.segments(file))


def complaints(path):
    """Its sentences and how often each comes. Addresses, offsets and indices shift, so numbers do not count. Of damaged
    files, it may go through gigabytes: subprocess.TimeoutExpired."""
    result = subprocess.run(["eu-elflint", "--gnu-ld", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=60)
    lines = [line for line in result.stdout.splitlines() if line.strip() and line != "No errors"]
    if result.returncode not in (0, 1):
        lines.append(f"eu-elflint ended with status {result.returncode}")
    return collections.Counter(NUMBER.sub("N", line) for line in lines if not (
        PROGRAM_HEADER.fullmatch(line) or SECTION.fullmatch(line) or RELOCATIONS.fullmatch(line) or
        is_of_writable_place(path, line)))


def new_complaints(before, after):
    """None, or what is new, a sentence a line."""
    new = complaints(after) - complaints(before)
    return "; ".join(f"{text} ({count} times more)" for text, count in sorted(new.items())) or None
