# Between the two stores only x29 is saved.
	.text
	.type	f, @function
f:
	.cfi_startproc
	sub	sp, sp, 32
	.cfi_def_cfa_offset 32
	str	x29, [sp]
	.cfi_offset 29, -32
	str	x30, [sp, 8]
	.cfi_offset 30, -24
	mov	x29, sp
	bl	f
	brk	1
	.cfi_endproc
	.size	f, .-f
