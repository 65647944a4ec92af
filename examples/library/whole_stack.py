#!/usr/bin/env python3
"""Prints the stack of the Python interpreter that runs it, from ctypes to _start. No file needs a section."""
import ctypes
import os
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_ulong, c_void_p

AT_ENTRY = 9  # of getauxval()
PROVIDE_ALL = 1  # SFRAME_UNWIND_PROVIDE_ALL


class DlInfo(ctypes.Structure):
    _fields_ = [("file", c_char_p), ("base", c_void_p), ("symbol", c_char_p), ("address", c_void_p)]


def main():
    gen = ctypes.CDLL(os.environ.get("LIBSFRAME_GEN", "libsframe-gen.so.1"))
    unwind = ctypes.CDLL(os.environ.get("LIBSFRAME_UNWIND", "libsframe-unwind.so.1"))
    libc = ctypes.CDLL(None)
    gen.sframe_gen_translated_sections_new.argtypes = [c_void_p, c_void_p]
    gen.sframe_gen_translated_sections_free.argtypes = [c_void_p]
    unwind.sframe_unwind_backtrace_prepare_with.argtypes = [c_void_p, c_void_p, c_uint]
    unwind.sframe_unwind_backtrace.argtypes = [c_void_p, c_int]
    libc.getauxval.argtypes, libc.getauxval.restype = [c_ulong], c_ulong
    libc.dladdr.argtypes = [c_void_p, c_void_p]

    sections = c_void_p()
    if gen.sframe_gen_translated_sections_new(None, byref(sections)) != 0:
        return 1
    provide = ctypes.cast(gen.sframe_gen_translated_sections_provide, c_void_p)
    if unwind.sframe_unwind_backtrace_prepare_with(provide, sections, PROVIDE_ALL) != 0:
        return 1
    frames = (c_size_t * 256)()
    count = unwind.sframe_unwind_backtrace(frames, len(frames))
    for pc in frames[:count]:
        # A return address may be that of the next function.
        info = DlInfo()
        libc.dladdr(pc - 1, byref(info))
        name = os.path.basename((info.file or b"?").decode())
        print(f"{name}: {info.symbol.decode()}" if info.symbol else f"{name}+{pc - 1 - (info.base or 0):#x}")
    unwind.sframe_unwind_backtrace_release()
    gen.sframe_gen_translated_sections_free(sections)
    return 0 if count and 0 <= frames[count - 1] - libc.getauxval(AT_ENTRY) < 64 else 1


if __name__ == "__main__":
    sys.exit(main())
