# x29 overwritten without being kept.
	.text
	.type	f, @function
f:
	.cfi_startproc
	add	w0, w0, w1
	mov	x29, 0
	.cfi_undefined 29
	ret
	.cfi_endproc
	.size	f, .-f
