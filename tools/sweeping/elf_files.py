"""Finds the ELF files in some places, and says which of them are programs."""
import os
import struct

ET_EXEC, ET_DYN = 2, 3
PT_DYNAMIC, PT_INTERP = 2, 3
DT_FLAGS_1, DF_1_PIE = 0x6FFFFFFB, 0x08000000


def paths_below(place):
    """A file itself, or all below a folder, in a stable order."""
    if not os.path.isdir(place):
        yield place
    for root, directories, names in os.walk(place):
        directories.sort()
        yield from (os.path.join(root, name) for name in sorted(names))


def elf_files(places, every_name=False):
    """Regular ELF files of any kind: each once, unless every name of a file is asked for."""
    seen = set()
    for path in (path for place in places for path in paths_below(place)):
        if os.path.islink(path) or not os.path.isfile(path):
            continue
        status = os.stat(path)
        if (status.st_dev, status.st_ino) in seen and not every_name:
            continue
        try:
            with open(path, "rb") as file:
                magic = file.read(4)
        except OSError:
            continue
        if magic == b"\x7fELF":
            seen.add((status.st_dev, status.st_ino))
            yield path


def is_program(path):
    """Whether the kernel can start it: executable bit, and fixed-address, with an interpreter, or static-pie."""
    if not os.access(path, os.X_OK):
        return False
    with open(path, "rb") as file:
        header = file.read(64)
        if len(header) < 64 or header[4:6] != b"\x02\x01":
            return False
        kind, _, _, _, table = struct.unpack_from("<HHIQQ", header, 16)
        entry_size, entries = struct.unpack_from("<HH", header, 54)
        if kind == ET_EXEC or kind != ET_DYN or entry_size != 56:
            return kind == ET_EXEC
        file.seek(table)
        segments = [struct.unpack("<IIQQQQQQ", file.read(56)) for _ in range(entries)]
        if any(segment[0] == PT_INTERP for segment in segments):
            return True
        for segment in segments:
            if segment[0] == PT_DYNAMIC:
                file.seek(segment[2])
                entries = struct.iter_unpack("<QQ", file.read(segment[5] // 16 * 16))
                return any(tag == DT_FLAGS_1 and value & DF_1_PIE for tag, value in entries)
    return False
