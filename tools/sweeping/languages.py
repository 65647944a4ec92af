"""Tells which language, or compiler, a linked file was mostly made with: by what it needs and says of itself."""
import mmap
import os
import subprocess

# What the linker or the run-time library leaves in a file of a language, the rarer before the more common.
MARKS = [
    ("Go, gc", ["] .gopclntab", "] .go.buildinfo"], []),
    ("Go, gccgo", ["[libgo.so"], []),
    ("Haskell, GHC", ["GHC 9.", "[libHS"], []),
    ("D, ldc and gdc", ["] .minfo", "] minfo", "[libphobos2", "[libgphobos"], []),
    ("Ada, GNAT", ["[libgnat-", "[libgnarl-"], [b"GNAT Version: "]),
    ("Modula-2, gm2", ["[libm2"], []),
    ("Fortran", ["[libgfortran.so", "flang version"], []),
    ("Pascal, Free Pascal", ["] fpc.resources", "] .fpcdata"], [b"FPC 3.2"]),
    ("OCaml", [], [b"OCAMLRUNPARAM"]),
    ("Crystal", [], [b"CRYSTAL_WORKERS", b"CRYSTAL_LOAD_DWARF"]),
    ("Rust", ["rustc version"], [b"/rustc/", b"rust_begin_unwind", b"library/std/src/"]),
]


def what_readelf_says(path):
    return subprocess.run(["readelf", "--wide", "--sections", "--dynamic", "--string-dump=.comment", path],
                          capture_output=True, text=True, errors="replace").stdout


def language_of(path):
    if path.endswith(".cmxs"):
        return "OCaml"
    text = what_readelf_says(path)
    if os.path.getsize(path) == 0:
        return "unknown"
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as contents:
        for language, words, strings in MARKS:
            if any(word in text for word in words) or any(contents.find(string) >= 0 for string in strings):
                return language
    compiler = "clang" if "clang version" in text else "GCC" if "GCC: (" in text else "others"
    return ("C++, " if "[libstdc++.so" in text or "[libc++.so" in text else "C, ") + compiler
