"""What eu-elflint says of a converted file and did not say of the original."""
import collections
import re
import subprocess

# PT_GNU_SFRAME and SHT_GNU_SFRAME, which elfutils of Debian 12 does not know.
PROGRAM_HEADER = re.compile(r"program header entry \d+: unknown program header entry type 0x6474e554")
SECTION = re.compile(r"section \[ *\d+\] '\.sframe' has unsupported type 1879048180")
NUMBER = re.compile(r"\[ *\d+\]|\b(0x[0-9a-f]+|\d+)\b")


def complaints(path):
    """Its sentences and how often each comes. Addresses, offsets and indices shift, so numbers do not count."""
    result = subprocess.run(["eu-elflint", "--gnu-ld", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace")
    lines = [line for line in result.stdout.splitlines() if line.strip() and line != "No errors"]
    if result.returncode not in (0, 1):
        lines.append(f"eu-elflint ended with status {result.returncode}")
    known = [line for line in lines if PROGRAM_HEADER.fullmatch(line) or SECTION.fullmatch(line)]
    return collections.Counter(NUMBER.sub("N", line) for line in lines if line not in known)


def new_complaints(before, after):
    """None, or what is new, a sentence a line."""
    new = complaints(after) - complaints(before)
    return "; ".join(f"{text} ({count} times more)" for text, count in sorted(new.items())) or None
