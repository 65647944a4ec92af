# A millicode call: x30 is overwritten, x17 keeps its value.
	.text
	.type	f, @function
f:
	.cfi_startproc
	mov	x17, x30
	.cfi_register 30, 17
	bl	f
	mov	x30, x17
	.cfi_restore 30
	ret
	.cfi_endproc
	.size	f, .-f
