"""The rows of a file as GNU readelf reads them from its .eh_frame, and as `sframe-gen --dump` reads them from .sframe."""
import bisect
import collections
import re

# A stretch of code and its rows, in the order of their first PCs.
Frames = collections.namedtuple("Frames", "start end rows")
Row = collections.namedtuple("Row", "pc cfa fp ra signed")

CIE = re.compile(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE\b")
FDE = re.compile(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)")
LOCATION = re.compile(r"   LOC +CFA +(.*)")
INTERPRETED = re.compile(r"([0-9a-f]{16}) (.*)")
ADVANCE = re.compile(r"  DW_CFA_advance_loc\d?: \d+ to ([0-9a-f]+)")
FUNCTION = re.compile(r"    func idx \[\d+\]: pc = (0x[0-9a-f]+), size = (\d+) bytes")
DUMPED = re.compile(r"    ([0-9a-f]{16})  (.*)")


def blocks(text):
    """Entries of .eh_frame with their lines."""
    block = []
    for line in text.splitlines():
        if CIE.match(line) or FDE.match(line):
            if block:
                yield block
            block = [line]
        elif block:
            block.append(line)
    if block:
        yield block


def cells(columns, line):
    """Values by column; "r17 (f2)" is one of them."""
    return dict(zip(["CFA", *columns], re.findall(r"\S+(?: \(\w+\))?", line)))


def interpreted(text, fp):
    """Entries that readelf shows as a table."""
    common, found = {}, []
    for first, *lines in blocks(text):
        columns, rows = [], []
        for line in lines:
            if LOCATION.match(line):
                columns = LOCATION.match(line)[1].split()
            elif INTERPRETED.match(line):
                pc, rest = INTERPRETED.match(line).groups()
                cell = cells(columns, rest)
                rows.append(Row(int(pc, 16), cell["CFA"], cell.get(fp, "u"), cell.get("ra", "u"), False))
        entry = FDE.match(first)
        if not entry:
            common[CIE.match(first)[1]] = rows[0]
            continue
        start, end = int(entry[3], 16), int(entry[4], 16)
        # An entry that changes nothing is shown without a table.
        found.append(Frames(start, end, rows or [common[entry[2]]._replace(pc=start)]))
    return found


def raw(text):
    """By start: PCs at which the return address may become signed or plain, and whether RA is undefined somewhere."""
    found, common = {}, {}
    for first, *lines in blocks(text):
        undefined = any(re.match(r"  DW_CFA_undefined: r(30|14)\b", line) for line in lines)
        entry = FDE.match(first)
        if not entry:
            common[CIE.match(first)[1]] = undefined
            continue
        pc, signed, remembered = int(entry[3], 16), False, []
        changes = [(pc, False)]
        for line in lines:
            if ADVANCE.match(line):
                pc = int(ADVANCE.match(line)[1], 16)
            elif "DW_CFA_AARCH64_negate_ra_state" in line:
                signed = not signed
            elif "DW_CFA_remember_state" in line:
                remembered.append(signed)
            elif "DW_CFA_restore_state" in line:
                signed = remembered.pop()
            changes.append((pc, signed))
        found[int(entry[3], 16)] = (changes, undefined or common[entry[2]])
    return found


def dumped(text):
    found = []
    for line in text.splitlines():
        if FUNCTION.match(line):
            start, size = FUNCTION.match(line).groups()
            found.append(Frames(int(start, 16), int(start, 16) + int(size), []))
        elif DUMPED.match(line):
            pc, rest = DUMPED.match(line).groups()
            if rest.startswith("RA undefined"):
                found[-1].rows.append(Row(int(pc, 16), "", "", "undefined", False))
                continue
            cfa, fp, ra = rest.replace("[s]", "").split()
            found[-1].rows.append(Row(int(pc, 16), cfa, fp, ra.replace("U", "u"), "[s]" in rest))
    return found


def at(rows, pc):
    """The row that holds at `pc`. Of several at one PC the last."""
    return rows[bisect.bisect_right([row.pc for row in rows], pc) - 1]


def spelled_alike(row, fp):
    """A row of readelf's in the words of the dump."""
    base, offset = re.fullmatch(r"(\w+)([+-]\d+)", row.cfa).groups()
    base = {fp: "fp", "sp": "sp", "r15": "sp"}.get(base, base)

    def value(cell):
        register = re.match(r"r(\d+)(?: |$)", cell)
        return f"r{register[1]}+0" if register else "u" if cell == "s" else cell

    return row._replace(cfa=base + offset, fp=value(row.fp), ra=value(row.ra))


def differences(tables, instructions, dump, fp):
    """Number of PCs compared, of them signed, and each PC at which the two disagree."""
    entries = sorted(interpreted(tables, fp))
    signing, starts = raw(instructions), [entry.start for entry in entries]
    compared, signed, wrong = 0, 0, []
    for function in dumped(dump):
        entry = entries[bisect.bisect_right(starts, function.start) - 1]
        changes, outermost = signing[entry.start]
        pcs = {row.pc for row in function.rows} | {row.pc for row in entry.rows} | {pc for pc, _ in changes}
        for pc in sorted(pc for pc in pcs if function.start <= pc < function.end):
            ours, theirs = at(function.rows, pc), spelled_alike(at(entry.rows, pc), fp)
            theirs = theirs._replace(signed=changes[bisect.bisect_right([at for at, _ in changes], pc) - 1][1])
            compared, signed = compared + 1, signed + theirs.signed
            if not entry.start <= pc < entry.end:
                wrong.append((hex(pc), ours, "no FDE"))
            elif ours.ra == "undefined":
                if not outermost:
                    wrong.append((hex(pc), ours, theirs))
            elif ours[1:] != theirs[1:]:
                wrong.append((hex(pc), ours, theirs))
    return compared, signed, wrong
