# .cfi_startproc simple and then the usual rules one by one.
	.text
	.type	f, @function
f:
	.cfi_startproc simple
	.cfi_def_cfa 7, 8
	.cfi_offset 16, -8
	pushq	%rdi
	.cfi_def_cfa_offset 16
	popq	%rdi
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	f, .-f
