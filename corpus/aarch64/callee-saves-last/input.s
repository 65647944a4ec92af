# x19 saved after the last change of what SFrame records.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	str	x19, [sp, 16]
	.cfi_offset 19, -16
	bl	f
	brk	1
	.cfi_endproc
	.size	f, .-f
