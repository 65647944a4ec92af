# Offset and base change at one PC.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stp	x29, x30, [sp, -48]!
	mov	x29, sp
	.cfi_def_cfa_offset 48
	.cfi_def_cfa_register 29
	.cfi_offset 29, -48
	.cfi_offset 30, -40
	bl	f
	brk	1
	.cfi_endproc
	.size	f, .-f
