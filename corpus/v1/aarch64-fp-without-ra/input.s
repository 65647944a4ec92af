# x29 used as an ordinary register.
	.text
	.type	f, @function
f:
	.cfi_startproc
	str	x29, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	mul	x29, x0, x1
	ldr	x29, [sp], 16
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	f, .-f
