# .cfi_startproc simple and nothing else: there is not even a CFA.
	.text
	.type	f, @function
f:
	.cfi_startproc simple
	xorl	%eax, %eax
	ret
	.cfi_endproc
	.size	f, .-f
