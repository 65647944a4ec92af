"""One program or library of the matrix, in one state: as it was linked, converted, or changed by a tool."""
import os
import re
import shutil

import harness
from harness import read, run, sections, segments, sframe_gen

HASH_START, HASH_FACTOR = 0xCBF29CE484222325, 0x100000001B3


def hash_of(content):
    value = HASH_START
    for byte in content:
        value = (value ^ byte) * HASH_FACTOR & 0xFFFFFFFFFFFFFFFF
    return value


class Problem(Exception):
    """What is wrong, in words that are the same for two files that have the same fault."""


class Subject:
    def __init__(self, target, path):
        self.target = target
        self.path = path  # of the file that is converted
        self.folder = os.path.dirname(path)
        self.program = os.path.join(self.folder, "program")  # what runs

    def copy_to(self, folder):
        """With the program that uses it, if it is a library."""
        os.makedirs(folder)
        for path in {self.path, self.program}:
            shutil.copy2(path, folder)
        return Subject(self.target, os.path.join(folder, os.path.basename(self.path)))

    @property
    def is_library(self):
        return self.path != self.program

    def run_once(self, *arguments):
        try:
            done = run(*self.target.runner, self.program, *arguments, timeout=120,
                       env={**os.environ, "LD_BIND_NOW": "1", "LD_WARN": "1"})
        except OSError as error:  # the kernel does not take it
            raise Problem(f"does not start: {error.strerror}") from error
        if done.status != 0 or done.err:
            first = (done.out + done.err).strip().splitlines()[-1:]
            raise Problem(f"runs with status {done.status}: {first[0] if first else ''}".replace(self.folder, "…"))
        return done.out

    def seen(self):
        """What it says of itself, without and with the two lines about the file."""
        out = self.run_once() + (self.run_once(self.path) if self.is_library else "")
        lines = out.splitlines()
        return ([line for line in lines if not line.startswith(("sframe ", "table "))],
                [line for line in lines if line.startswith(("sframe ", "table "))])

    def check_runs(self, expected):
        """It says the same as the original, and its memory holds the file's program headers and section."""
        told, about_file = self.seen()
        if told != expected:
            raise Problem(f"says {told} instead of {expected}")
        wanted = self.lines_of_file() * (2 if self.is_library else 1)
        if about_file != wanted:
            raise Problem(f"memory has {about_file}, the file {wanted}")

    def lines_of_file(self):
        content = read(self.path)
        found = [s for s in segments(content) if s.type == harness.PT_GNU_SFRAME]
        lines = [f"sframe {s.memsz} {hash_of(content[s.offset:s.offset + s.filesz]):016x}" for s in found]
        offset, count = harness.fields("Q", content, 32)[0], harness.fields("H", content, 56)[0]
        return (lines or ["sframe none"]) + [
            f"table {count} {hash_of(content[offset:offset + count * harness.PHDR_SIZE]):016x}"]

    def check_verifies(self, with_debug):
        """`with_debug` has what a tool may have taken away: .debug_frame describes functions too."""
        result = sframe_gen("--verify", self.path, "--cfi-from", with_debug, "--ignore-build-id")
        if result.status != 0 or "no difference" not in result.out or result.err:
            raise Problem(f"--verify: {result.err or result.out}".replace(self.folder, "…"))

    def section(self):
        content = read(self.path)
        found = sections(content).get(".sframe")
        if not sections(content):  # it had none before either
            found = next((s for s in segments(content) if s.type == harness.PT_GNU_SFRAME), None)
            return None if found is None else (found.vaddr, content[found.offset:found.offset + found.filesz])
        return None if found is None else (found.addr, content[found.offset:found.offset + found.size])

    def complaints(self):
        """What readelf and elflint say, without what differs from file to file."""
        text = run("readelf", "-aW", self.path).err + run("eu-elflint", "--gnu-ld", self.path).out
        lines = {re.sub(r"\[ *\d+\]|\b\d+\b|0x[0-9a-f]+|'[^']*'", "…", line) for line in text.splitlines()
                 if "0x6474e554" not in line and "unsupported type 1879048180" not in line}
        return lines - {"No errors"}
