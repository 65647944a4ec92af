"""What elfutils' libdw says of the caller at a PC, by dwarf_cfi_addrframe()."""
import ctypes
import os

DW_OP_DEREF, DW_OP_PLUS_UCONST, DW_OP_BREG0, DW_OP_REG0 = 0x06, 0x23, 0x70, 0x50
DW_OP_REGX, DW_OP_BREGX, DW_OP_CALL_FRAME_CFA, DW_OP_STACK_VALUE = 0x90, 0x92, 0x9C, 0x9F
ELF_C_READ_MMAP, DWARF_C_READ = 9, 0


class Op(ctypes.Structure):
    _fields_ = [("atom", ctypes.c_uint8), ("number", ctypes.c_uint64), ("number2", ctypes.c_uint64), ("offset", ctypes.c_uint64)]


class Unknown(Exception):
    """An operation that this does not know."""


def signed(number):
    return number - (1 << 64) if number >> 63 else number


def plus(value, number):
    return value[0], value[1] + number


def value_of(ops, start=None):
    """A value is (register or "memory at" a value, offset); returns one, and whether it is a value and no place."""
    value, is_value = start, False
    for op in ops:
        if op.atom == DW_OP_CALL_FRAME_CFA:
            value = start
        elif DW_OP_BREG0 <= op.atom < DW_OP_BREG0 + 32:
            value = (op.atom - DW_OP_BREG0, signed(op.number))
        elif op.atom == DW_OP_BREGX:
            value = (op.number, signed(op.number2))
        elif DW_OP_REG0 <= op.atom < DW_OP_REG0 + 32:
            value, is_value = (op.atom - DW_OP_REG0, 0), True
        elif op.atom == DW_OP_REGX:
            value, is_value = (op.number, 0), True
        elif op.atom == DW_OP_PLUS_UCONST:
            value = plus(value, signed(op.number))
        elif op.atom == DW_OP_DEREF:
            value = (("memory", value), 0)
        elif op.atom == DW_OP_STACK_VALUE:
            is_value = True
        else:
            raise Unknown(hex(op.atom))
    return value, is_value


class Frames:
    """Of one linked file. .eh_frame counts where it describes the PC."""

    def __init__(self, path):
        self.dw, self.elf = ctypes.CDLL("libdw.so.1"), ctypes.CDLL("libelf.so.1")
        for library, names in (self.elf, ("elf_begin",)), (self.dw, ("dwarf_begin_elf", "dwarf_getcfi", "dwarf_getcfi_elf")):
            for name in names:
                getattr(library, name).restype = ctypes.c_void_p
        self.free = ctypes.CDLL(None).free
        self.free.argtypes = [ctypes.c_void_p]
        self.elf.elf_version(1)
        self.file = os.open(path, os.O_RDONLY)
        self.image = ctypes.c_void_p(self.elf.elf_begin(self.file, ELF_C_READ_MMAP, None))
        self.tables = [("eh", ctypes.c_void_p(self.dw.dwarf_getcfi_elf(self.image)))]
        self.dwarf = ctypes.c_void_p(self.dw.dwarf_begin_elf(self.image, DWARF_C_READ, None))
        if self.dwarf:
            self.tables.append(("debug", ctypes.c_void_p(self.dw.dwarf_getcfi(self.dwarf))))
        self.tables = [(name, table) for name, table in self.tables if table]
        self.addrframe, self.cfa, self.register = (getattr(self.dw, name) for name in (
            "dwarf_cfi_addrframe", "dwarf_frame_cfa", "dwarf_frame_register"))
        self.addrframe.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p]
        self.memory = (Op * 3)()

    def close(self):
        if self.dwarf:
            self.dw.dwarf_end(self.dwarf)
        # The table of .eh_frame belongs to its caller.
        for name, table in self.tables:
            if name == "eh":
                self.dw.dwarf_cfi_end(table)
        self.elf.elf_end(self.image)
        os.close(self.file)

    def at(self, pc, registers):
        """(CFA, {register: rule}); a rule is None (undefined), "same", or a value. None: nothing describes the PC."""
        frame = ctypes.c_void_p()
        for _, table in self.tables:
            if self.addrframe(table, pc, ctypes.byref(frame)) == 0:
                break
        else:
            return None
        try:
            ops, count = ctypes.POINTER(Op)(), ctypes.c_size_t()
            if self.cfa(frame, ctypes.byref(ops), ctypes.byref(count)) != 0 or count.value == 0:
                return None
            cfa, _ = value_of(ops[:count.value])
            return cfa, {number: self.rule(frame, number, cfa) for number in registers}
        finally:
            self.free(frame)

    def rule(self, frame, number, cfa):
        ops, count = ctypes.POINTER(Op)(), ctypes.c_size_t()
        if self.register(frame, number, self.memory, ctypes.byref(ops), ctypes.byref(count)) != 0:
            raise Unknown("register")
        if count.value == 0:
            return None if ops else "same"
        value, is_value = value_of(ops[:count.value], cfa)
        return value if is_value else (("memory", value), 0)
