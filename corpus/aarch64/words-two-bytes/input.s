# 127 and 128, -128 and -129.
	.text
	.type	f, @function
f:
	.cfi_startproc
	sub	sp, sp, 112
	.cfi_def_cfa_offset 112
	.cfi_offset 30, -128
	nop
	.cfi_offset 30, -136
	nop
	.cfi_offset 30, -8
	.cfi_def_cfa_offset 127
	nop
	.cfi_def_cfa_offset 128
	bl	f
	brk	1
	.cfi_endproc
	.size	f, .-f
