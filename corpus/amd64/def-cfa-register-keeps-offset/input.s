# .cfi_def_cfa_offset and .cfi_def_cfa_register at one address: rbp + 48.
	.text
	.type	f, @function
f:
	.cfi_startproc
	leaq	-40(%rsp), %rbp
	.cfi_def_cfa_offset 48
	.cfi_def_cfa_register 6
	movq	%rdi, 8(%rbp)
	leaq	40(%rbp), %rsp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
	.size	f, .-f
