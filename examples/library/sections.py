#!/usr/bin/env python3
"""Converts FILE to OUTPUT, verifies the result, decodes its section, and looks up each function's first PC, with the shared
library's C interface (sframe_gen/sframe_gen.h) and nothing but Python's own ctypes."""
import ctypes
import os
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

library = ctypes.CDLL(os.environ.get("LIBSFRAME_GEN", "libsframe-gen.so.1"))

REPORT = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
NOTHING, ROW, OUTERMOST = 0, 1, 2  # SFRAME_UNWIND_LOOKUP_...


class Sized(ctypes.Structure):
    """A structure that begins with its size."""

    def __init__(self, **fields):
        super().__init__(size=ctypes.sizeof(self), **fields)


class Options(Sized):
    _fields_ = [("size", c_size_t), ("reader", c_char_p), ("sframe_version", c_uint32), ("compact_rows", c_uint32),
                ("debug_file", c_char_p), ("flags", c_uint32), ("reserved", c_uint32), ("report", REPORT), ("context", c_void_p)]


class Result(Sized):
    _fields_ = [("size", c_size_t), ("kind", c_uint32), ("members", c_uint32), ("section_address", c_uint64),
                ("section_size", c_uint64), ("growth", c_int64)] + [(name, c_uint64) for name in (
                    "functions", "whole", "in_part", "left_out", "rows", "described_bytes", "covered_bytes")]


class Verification(Sized):
    _fields_ = [("size", c_size_t)] + [(name, c_uint64) for name in (
        "functions", "rows", "checked_pcs", "differences", "unchecked", "left_out", "described_bytes", "covered_bytes",
        "failed_members")]


class Info(Sized):
    _fields_ = [("size", c_size_t), ("sframe_version", c_uint32), ("abi", c_uint32), ("is_big_endian", c_uint32),
                ("flags", c_uint32), ("address", c_uint64), ("functions", c_uint64), ("rows", c_uint64)]


class Function(Sized):
    _fields_ = [("size", c_size_t), ("start", c_uint64)] + [(name, c_uint32) for name in (
        "code_size", "rows", "repeat_size", "is_flexible", "signal_frame", "b_key")]


class Rule(ctypes.Structure):
    _fields_ = [("base", c_uint32), ("offset", c_int32), ("dereferenced", c_uint32)]


class Row(ctypes.Structure):
    _fields_ = [("cfa", Rule), ("return_address", Rule), ("frame_pointer", Rule), ("mangled_ra", c_uint32),
                ("b_key", c_uint32), ("signal_frame", c_uint32), ("function_start", c_uint64), ("function_size", c_uint32),
                ("descriptor", c_uint32), ("row_number", c_uint32), ("reserved", c_uint32)]


class Failure(Exception):
    """A status other than SFRAME_GEN_OK, with its message."""


def check(status, _function, _arguments):
    if status != 0:
        raise Failure(library.sframe_gen_message().decode(errors="replace"))


def declare(name, *types):
    function = getattr(library, "sframe_gen_" + name)
    function.argtypes, function.restype, function.errcheck = types, c_int, check
    return function


library.sframe_gen_message.restype = c_char_p
library.sframe_gen_version.restype = c_char_p
library.sframe_gen_section_free.argtypes, library.sframe_gen_section_free.restype = [c_void_p], None
convert = declare("convert", c_char_p, c_char_p, POINTER(Options), POINTER(Result))
verify = declare("verify", c_char_p, POINTER(Options), POINTER(Verification))
read = declare("read", c_char_p, c_uint32, POINTER(c_void_p))
describe = declare("section_describe", c_void_p, POINTER(Info))
function_at = declare("section_function", c_void_p, c_size_t, POINTER(Function))
look_up = declare("section_lookup", c_void_p, c_uint64, POINTER(c_int), POINTER(Row))


def main(file, output):
    report = REPORT(lambda _context, about, text: print(("warning", "difference", "unchecked")[about], text.decode(), file=sys.stderr))
    options, result, verification = Options(report=report), Result(), Verification()
    convert(os.fsencode(file), os.fsencode(output), byref(options), byref(result))
    print(f"{result.covered_bytes} of {result.described_bytes} bytes of code covered by {result.rows} rows")
    verify(os.fsencode(output), byref(options), byref(verification))
    print(f"{verification.checked_pcs} PCs compared, {verification.differences} differences")

    section, info, function, kind, row = c_void_p(), Info(), Function(), c_int(), Row()
    read(os.fsencode(output), 0, byref(section))
    describe(section, byref(info))
    found = 0
    for number in range(info.functions):
        function_at(section, number, byref(function))
        look_up(section, function.start, byref(kind), byref(row))
        found += kind.value in (ROW, OUTERMOST)
    library.sframe_gen_section_free(section)
    print(f"SFrame version {info.sframe_version}: {info.functions} functions, {found} of them begin with a row")
    return 0 if verification.differences == 0 else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: sections.py FILE OUTPUT")
    try:
        sys.exit(main(*sys.argv[1:]))
    except Failure as failure:
        sys.exit(str(failure))
