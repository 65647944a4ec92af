# x29 kept in x9 for two instructions.
	.text
	.type	f, @function
f:
	.cfi_startproc
	mov	x9, x29
	.cfi_register 29, 9
	mul	x29, x0, x1
	mov	x29, x9
	.cfi_restore 29
	ret
	.cfi_endproc
	.size	f, .-f
