"""Finds the ELF files in some places, and says which of them are programs."""
import os
import struct

ET_REL, ET_EXEC, ET_DYN = 1, 2, 3
EM_X86_64 = 62
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


def is_object(path):
    """Whether the file is relocatable: an object or a kernel module, of any class and byte order."""
    with open(path, "rb") as file:
        header = file.read(18)
    return len(header) == 18 and int.from_bytes(header[16:], "big" if header[5] == 2 else "little") == ET_REL


def segments(file):
    """Its program headers as (type, flags, offset, vaddr, paddr, filesz, memsz, align); 64-bit little-endian only."""
    file.seek(32)
    table = struct.unpack("<Q", file.read(8))[0]
    file.seek(54)
    entry_size, count = struct.unpack("<HH", file.read(4))
    file.seek(table)
    return list(struct.iter_unpack("<IIQQQQQQ", file.read(entry_size * count)))


def is_program(path):
    """Whether this machine can start it: executable, x86-64, at a fixed address, with an interpreter or static-pie."""
    if not os.access(path, os.X_OK):
        return False
    with open(path, "rb") as file:
        header = file.read(64)
        if len(header) < 64 or header[4:6] != b"\x02\x01":
            return False
        kind, machine = struct.unpack_from("<HH", header, 16)
        if machine != EM_X86_64 or kind != ET_DYN:
            return machine == EM_X86_64 and kind == ET_EXEC
        headers = segments(file)
        if any(segment[0] == PT_INTERP for segment in headers):
            return True
        for segment in headers:
            if segment[0] == PT_DYNAMIC:
                file.seek(segment[2])
                entries = struct.iter_unpack("<QQ", file.read(segment[5] // 16 * 16))
                return any(tag == DT_FLAGS_1 and value & DF_1_PIE for tag, value in entries)
    return False
