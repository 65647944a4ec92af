"""GNU's libsframe in a program of its own, which looks up PCs and compares with what is expected."""
import os
import subprocess


def build_lookup(box):
    program = box.file("libsframe-lookup")
    box.compile("gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program,
                os.path.join(box.source, "tests/gnu/libsframe_lookup.c"), "-ldl")
    return program


def look_up(box, program, section, lines):
    """What the program says of the bytes in file `section`, given lines of expected-rows."""
    # libsframe wants the C library of its own suite, so the program runs with that suite's loader.
    libraries = os.path.join(box.suite, "root/usr/lib/x86_64-linux-gnu")
    return subprocess.run([f"{libraries}/ld-linux-x86-64.so.2", "--library-path", libraries, program, section],
                          input=lines, capture_output=True, text=True, check=False)
