"""Good and bad sections by name: each is one of the bases, with some bytes changed, and says what was done to it."""
import collections
import os
import re

# machine: of the file around it. starts: offset of each function's start field, its size, the function's offset in the
# code.
Base = collections.namedtuple("Base", "machine version bytes starts")
# change: offset in the section → bytes; "cut": its new size.
Case = collections.namedtuple("Case", "name base change")

VERSION_1 = """
    e2 de 01 01  03 00 f8 00  02 00 00 00  06 00 00 00  14 00 00 00  00 00 00 00  22 00 00 00
    00 f0 ff ff 07 00 00 00 00 00 00 00 04 00 00 00 00     # 0x1c start 0x1000, size, rows at 0x3e, 4 of them
    40 f0 ff ff 20 00 00 00 0e 00 00 00 02 00 00 00 00     # 0x2d start 0x1040, size, rows at 0x4c, 2 of them
    00 03 08  01 05 10 f0  04 04 10 f0  06 03 08           # 0x3e
    00 03 08  0b 03 10                                     # 0x4c
"""


def bytes_of(text):
    return bytes(int(word, 16) for line in text.splitlines() for word in line.split("#")[0].split())


def changed(section, change):
    section = bytearray(section)
    for at, text in change.items():
        if at == "cut":
            del section[text:]
            continue
        new = bytes_of(text)
        section[at:at + len(new)] = new
    return bytes(section)


def bases(source):
    def data(name):
        with open(os.path.join(source, "tests/sframe", name), encoding="utf-8") as file:
            text = file.read()
        literal = re.search(r'R"\((.*?)\)"', text, re.S)
        return bytes_of(literal[1] if literal else text)

    plain_2 = changed(data("data/v2_amd64.hex"), {0x10: "1c", 0x71: "01 03 10"})
    from_section = {3: "01", 0x1c: "00 f0 ff ff", 0x30: "10 f0 ff ff", 0x44: "40 f0 ff ff"}
    three, two = [(0x1c, 8, 0), (0x2c, 8, 0x10), (0x3c, 8, 0x40)], [(0x1c, 4, 0), (0x30, 4, 0x10), (0x44, 4, 0x40)]
    return {
        "3": Base("amd64", 3, data("good_section.hpp"), three),
        "2": Base("amd64", 2, plain_2, two),
        "2 outermost": Base("amd64", 2, data("data/v2_amd64.hex"), two),
        "2 old": Base("amd64", 2, changed(plain_2, from_section), two),
        "1": Base("amd64", 1, bytes_of(VERSION_1), [(0x1c, 4, 0), (0x2d, 4, 0x40)]),
        "3 aarch64_be": Base("aarch64_be", 3, data("data/v3_aarch64_be.hex"), [(0x1c, 8, 0), (0x2c, 8, 0x40)]),
        "3 s390x": Base("s390x", 3, data("data/v3_s390x.hex"), [(0x1c, 8, 0)]),
        "2 s390x": Base("s390x", 2, data("data/v2_s390x.hex"), [(0x1c, 4, 0), (0x30, 4, 0x40)]),
    }


# Their rows are not the base's, and our own reader refuses them: what a reader should come to cannot be said, but how many
# rows.
CHANGED_ROWS = {"two equal starts", "overlap", "row start twice", "row beyond the block", "signed"}

# What all versions have in one place.
HEADER = {
    "no magic number": {0: "00 00"},
    "version 0": {2: "00"},
    "version 4": {2: "04"},
    "ABI 0": {4: "00"},
    "ABI 5": {4: "05"},
    "another ABI": {4: "02"},
    "fixed FP": {5: "f0"},
    "another fixed RA": {6: "f0"},
    "no functions": {8: "00 00 00 00"},
    "far too many functions": {8: "ff ff ff 00"},
    "one row too many counted": {0xc: "20"},
    "no rows counted": {0xc: "00"},
    "rows end far outside": {0x10: "ff ff ff 7f"},
    "index behind rows": {0x14: "ff 00 00 00"},
    "rows far outside": {0x18: "ff ff ff 3f"},
    "half a header": {"cut": 20},
    "a header alone": {"cut": 28},
}
OF_VERSION_3 = {
    "version 2 of a version 3": {2: "02"},
    "an unknown flag": {3: "07"},
    "not flagged as sorted": {3: "04"},
    "starts from the section": {3: "01", 0x1c: "00 f0", 0x2c: "10 f0", 0x3c: "40 f0"},
    "start not sorted": {0x2d: "ee"},
    "two equal starts": {0x2c: "d4 ef"},
    "overlap": {0x34: "50"},
    "rows of a function outside": {0x28: "00 00 00 3f"},
    "11 rows of 4": {0x6a: "0b"},
    "row type 3": {0x4e: "03"},
    "reserved bit": {0x4e: "40"},
    "signing key": {0x4e: "20"},
    "reserved bits 2": {0x4f: "20"},
    "descriptor type 2": {0x4f: "02"},
    "no repeat size": {0x63: "00"},
    "stray repeat size": {0x50: "10"},
    "shared rows": {0x28: "13 00 00 00", 0x24: "10", 0xc: "08"},
    "row start twice": {0x54: "00"},
    "row at the function's end": {0x5c: "07"},
    "row beyond the function": {0x5c: "08"},
    "row beyond the block": {0x67: "10"},
    "words of size 3": {0x52: "63"},
    "signed": {0x52: "83"},
    "7 words": {0x70: "0e"},
    "rows end in the middle of one": {0x10: "2f", "cut": 0x7b},
    "control word with the reserved bit": {0x71: "3d"},
    "CFA without register": {0x71: "02"},
    "register 160": {0x7b: "24 01 05 00 00 09 00"},
    "stray bytes at the end": {0x85: "01"},
}
OF_VERSION_2 = {
    "version 3 of a version 2": {2: "03"},
    "an unknown flag": {3: "0d"},
    "not flagged as sorted": {3: "04"},
    "all preserve FP": {3: "07"},
    "start not sorted": {0x31: "ee"},
    "rows of a function outside": {0x24: "00 00 00 3f"},
    "row type 3": {0x2c: "03"},
    "no repeat size": {0x41: "00"},
    "padding not zero": {0x42: "01"},
    "row at the function's end": {0x63: "07"},
    "row beyond the function": {0x63: "08"},
    "words of size 3": {0x59: "63"},
    "rows shared": {0x38: "00 00 00 00 04", 0x40: "00 00", 0xc: "0a"},
}
OF_VERSION_1 = {
    "an unknown flag": {3: "05"},
    "not flagged as sorted": {3: "00"},
    "rows of a function outside": {0x24: "00 00 00 3f"},
    "row type 3": {0x2c: "03"},
    "row at the function's end": {0x49: "07"},
    "words of size 3": {0x3f: "63"},
}
# Without the flag that version 2 has since its errata.
OLD_FLAGS = {
    "an unknown flag": {3: "09"},
    "starts from the field": {3: "05"},
    "not flagged as sorted": {3: "00"},
    "all preserve FP": {3: "03"},
    "start not sorted": {0x31: "ee"},
}
BIG_ENDIAN = {
    "the word 0 for the RA": {0x4a: "00"},
    "auxiliary header": {7: "04"},
    "one row too many counted": {0xf: "20"},
    "stray bytes at the end": {0x5d: "01"},
}


def cases(source):
    every = bases(source)
    found = [Case("as it should be", name, {}) for name in every]
    for name, changes in (("3", HEADER | OF_VERSION_3), ("2", HEADER | OF_VERSION_2), ("1", HEADER | OF_VERSION_1),
                          ("2 old", HEADER | OF_VERSION_2 | OLD_FLAGS),
                          ("3 aarch64_be", BIG_ENDIAN)):
        found += [Case(what, name, change) for what, change in changes.items()]
    found.append(Case("shared rows", "3 aarch64_be", {0x24: "00 00 00 08 00 00 00 10", 0xf: "02"}))
    return found
