# The CFA is set to what it is.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rdi
	.cfi_def_cfa_offset 16
	call	*%rsi
	.cfi_def_cfa_offset 16
	popq	%rdi
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	f, .-f
