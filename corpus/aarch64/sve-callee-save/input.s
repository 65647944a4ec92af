# d8 at CFA - 16 - 8 * VG: SFrame does not record d8, so the row stands.
	.arch armv8-a+sve
	.text
	.type	f, @function
f:
	.cfi_startproc
	stp	x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	mov	x29, sp
	.cfi_def_cfa_register 29
	addvl	sp, sp, -1
	str	z8, [sp]
	.cfi_escape 0x10, 72, 8, 0x40, 0x1c, 0x92, 46, 0, 0x38, 0x1e, 0x1c
	bl	f
	brk	1
	.cfi_endproc
	.size	f, .-f
