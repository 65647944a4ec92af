# x29 and x30 stay in their registers.
	.text
	.type	f, @function
f:
	.cfi_startproc
	add	w0, w0, w1
	ret
	.cfi_endproc
	.size	f, .-f
