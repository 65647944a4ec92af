# A program start.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_undefined 14
	lghi	%r14, 0
	brasl	%r14, f
	j	.
	.cfi_endproc
	.size	f, .-f
