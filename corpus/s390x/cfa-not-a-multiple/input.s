# A stack pointer that is moved by four bytes for a moment.
	.text
	.type	f, @function
f:
	.cfi_startproc
	aghi	%r15, -8
	.cfi_def_cfa_offset 168
	aghi	%r15, -4
	.cfi_def_cfa_offset 172
	aghi	%r15, -4
	.cfi_def_cfa_offset 176
	j	.
	.cfi_endproc
	.size	f, .-f
