# CFA = r15 + 0 is stored as -20.
	.text
	.type	f, @function
f:
	.cfi_startproc
	la	%r15, 160(%r15)
	.cfi_def_cfa_offset 0
	la	%r15, 8(%r15)
	.cfi_def_cfa_offset -8
	j	.
	.cfi_endproc
	.size	f, .-f
