# A cold part that starts with x29 saved and x30 not.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	mul	x29, x0, x1
	ldr	x29, [sp], 16
	brk	1
	.cfi_endproc
	.size	f, .-f
