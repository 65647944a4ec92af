"""Small ELF files around a .sframe section, made byte by byte, so that nothing judges the section before its reader does:
code at 0x1000 and the section at 0x2000, or an object with a relocation for each function."""
import struct

CODE, SECTION = 0x1000, 0x2000
PT_GNU_SFRAME, SHT_GNU_SFRAME = 0x6474E554, 0x6FFFFFF4
ET_REL, ET_EXEC = 1, 2
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA = 1, 2, 3, 4
# e_machine, byte order, and the relocations that store S + A - P in 4 and 8 bytes.
MACHINES = {"amd64": (62, "<", {4: 2, 8: 24}), "aarch64_be": (183, ">", {4: 261, 8: 260}), "s390x": (22, ">", {4: 5, 8: 23})}
CODE_SIZE = 0x200


def header(order, machine, kind, segments, section_count, sections_at):
    identification = b"\x7fELF" + bytes([2, 1 if order == "<" else 2, 1]) + bytes(9)
    return identification + struct.pack(order + "HHIQQQIHHHHHH", kind, machine, 1, 0, 64 if segments else 0, sections_at, 0, 64,
                                        56, segments, 64, section_count, section_count - 1)


def assemble(order, machine, kind, segments, sections):
    """`sections`: name, type, flags, address, link, info, entry size, contents; the names' own comes last."""
    names = b"\0" + b"".join(section[0].encode() + b"\0" for section in sections) + b".shstrtab\0"
    sections = [*sections, (".shstrtab", SHT_STRTAB, 0, 0, 0, 0, 0, names)]
    body, table = bytearray(64 + 56 * len(segments)), bytearray(64)
    for name, type_, flags, address, link, info, entry_size, contents in sections:
        # As far from its page in the file as in memory.
        while len(body) % 16 or (flags & 2 and kind == ET_EXEC and len(body) % 0x1000 != address % 0x1000):
            body += b"\0"
        table += struct.pack(order + "IIQQQQIIQQ", names.index(b"\0" + name.encode() + b"\0") + 1, type_, flags, address,
                             len(body), len(contents), link, info, 8, entry_size)
        body += contents
    body += bytes(-len(body) % 8)
    start = header(order, machine, kind, len(segments), len(sections) + 1, len(body))
    for number, (type_, flags, address, size) in enumerate(segments):
        start += struct.pack(order + "IIQQQQQQ", type_, flags, address, address, address, size, size,
                             8 if type_ == PT_GNU_SFRAME else 0x1000)
        assert number < 4
    body[:len(start)] = start
    return bytes(body + table)


def linked(machine, section):
    number, order, _ = MACHINES[machine]
    segments = [(1, 5, CODE, CODE_SIZE), (1, 4, SECTION, len(section)), (PT_GNU_SFRAME, 4, SECTION, len(section))]
    return assemble(order, number, ET_EXEC, segments, [
        (".text", SHT_PROGBITS, 6, CODE, 0, 0, 0, bytes(CODE_SIZE)),
        (".sframe", SHT_GNU_SFRAME, 2, SECTION, 0, 0, 0, section)])


def object_file(machine, section, fields, section_type=SHT_GNU_SFRAME):
    """`fields`: offset, size in bytes and function's offset in the code of each start."""
    number, order, types = MACHINES[machine]
    relocations = b"".join(struct.pack(order + "QQq", offset, 1 << 32 | types[size], function)
                           for offset, size, function in fields)
    symbols = bytes(24) + struct.pack(order + "IBBHQQ", 0, 3, 0, 1, 0, 0) + struct.pack(order + "IBBHQQ", 1, 16, 0, 1, 0, 0)
    return assemble(order, number, ET_REL, [], [
        (".text", SHT_PROGBITS, 6, 0, 0, 0, 0, bytes(CODE_SIZE)),
        (".sframe", section_type, 2, 0, 0, 0, 0, section),
        (".rela.sframe", SHT_RELA, 0x40, 0, 4, 2, 24, relocations),
        (".symtab", SHT_SYMTAB, 0, 0, 5, 2, 24, symbols),
        (".strtab", SHT_STRTAB, 0, 0, 0, 0, 0, b"\0_start\0")])
