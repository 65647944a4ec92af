# A program start.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_undefined 16
	xorl	%ebp, %ebp
	call	*%rdi
	ud2
	.cfi_endproc
	.size	f, .-f
