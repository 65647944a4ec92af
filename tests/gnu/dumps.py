"""What readers print of a .sframe section, as values: GNU's notation, which is --dump's too, and LLVM's."""
import re

FUNCTION = re.compile(r'    func idx \[\d+\]: pc = (0x[0-9a-f]+), size = (\d+) bytes(?:, attr = "(S?F?)")?'
                      r'(, pauth = B key)?$')
COLUMNS = "{:<10}{:<10}{}"


class Descriptor:
    """One function: its rows are pairs of an offset from its start, or in its repeated block, and "CFA FP RA"."""

    def __init__(self, start, size, attribute="", b_key=False):
        self.start, self.size, self.attribute, self.b_key = start, size, attribute, b_key
        self.repeats = False
        self.rows = []

    def __eq__(self, other):
        return vars(self) == vars(other)

    def __repr__(self):
        return (f"{self.start:#x} size {self.size} {self.attribute}{' B key' * self.b_key}{' repeats' * self.repeats} "
                f"{self.rows}")


def text_from_heading(text):
    """Without what a tool prints before the section, or all of it."""
    heading = text.find("Contents of the SFrame section")
    return text[heading:] if heading >= 0 else ""


def difference(dumped, shown):
    """The first line at which --dump and a reader part."""
    ours, theirs = dumped.splitlines(), shown.splitlines()
    line = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
    return f"line {line + 1} of --dump and of the reader differ:\n{ours[line:line + 1]}\n{theirs[line:line + 1]}"


def parse(dump):
    """Descriptors of a dump by their start, in its order."""
    return {descriptor.start: descriptor for descriptor in parse_list(dump)}


def parse_list(dump):
    """Descriptors of a dump, in its order."""
    descriptors = []
    for line in dump.splitlines():
        match = FUNCTION.match(line)
        if match:
            start = int(match[1], 16)
            current = Descriptor(start, int(match[2]), match[3] or "", bool(match[4]))
            descriptors.append(current)
        elif line.startswith("    STARTPC"):
            current.repeats = line.startswith("    STARTPC[m]")
        elif re.match(r"    [0-9a-f]{16}  ", line):
            pc = int(line[4:20], 16)
            current.rows.append((pc if current.repeats else pc - current.start, " ".join(line[20:].split())))
    return descriptors


def llvm_row(fields, abi):
    """A row of llvm-readelf's in GNU's notation. It prints the fixed RA offset of the header, but of s390x, which it
    does not know, the words as they are stored."""
    if "CFA Offset" not in fields:
        return "RA undefined"
    cfa, fp, ra = (int(fields[name]) if name in fields else None for name in ("CFA Offset", "FP Offset", "RA Offset"))
    s390x = abi == "0x4"

    def slot(offset):
        if offset is None:
            return "u"
        return f"r{offset >> 1}" if s390x and offset & 1 else f"c{offset:+d}"

    base = fields["Base Register"].split()[0].lower()
    place = {("AMD64EndianLittle", -8): "f", ("0x4", 0): "U"}.get((abi, ra), slot(ra))
    signed = "[s]" if fields["Return Address Signed"] == "Yes" else ""
    text = COLUMNS.format(f"{base}+{cfa * 8 + 160 if s390x else cfa}", slot(fp), place + signed)
    return " ".join(text.split())


def parse_llvm(text):
    """The same of `llvm-readelf --sframe`."""
    descriptors, abi, row = {}, "", None
    for line in text.splitlines():
        name, _, value = line.strip().partition(": ")
        if name == "ABI":
            abi = value.split()[0]
        elif name == "PC":
            start = int(value, 16)
            current = descriptors[start] = Descriptor(start, 0)
        elif name == "Size":
            current.size = int(value, 16)
        elif name == "FDE Type":
            current.repeats = value.startswith("PCMask")
        elif name == "PAuth Key":
            current.b_key = value.startswith("B")
        elif name == "Frame Row Entry {":
            row = {}
        elif name == "}" and row is not None:
            at = int(row["Start Address"], 16)
            current.rows.append((at if current.repeats else at - current.start, llvm_row(row, abi)))
            row = None
        elif row is not None:
            row[name] = value
    return descriptors
