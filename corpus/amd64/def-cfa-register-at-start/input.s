# The base of the CFA is rbp from the first instruction on.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_def_cfa_register 6
	movq	8(%rbp), %rax
	ret
	.cfi_endproc
	.size	f, .-f
