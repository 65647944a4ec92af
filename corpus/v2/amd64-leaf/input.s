# No rule changes.
	.text
	.type	f, @function
f:
	.cfi_startproc
	leal	1(%rdi), %eax
	ret
	.cfi_endproc
	.size	f, .-f
