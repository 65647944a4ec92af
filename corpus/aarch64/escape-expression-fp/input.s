# x29 at sp + 8 by a DWARF expression.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stp	x30, x29, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 30, -16
	.cfi_escape 0x10, 29, 2, 0x8f, 8
	bl	f
	brk	1
	.cfi_endproc
	.size	f, .-f
