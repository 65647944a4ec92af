# 1176 is stored as 127 in one byte, 1184 as 128 in two.
	.text
	.type	f, @function
f:
	.cfi_startproc
	lay	%r15, -1016(%r15)
	.cfi_def_cfa_offset 1176
	lay	%r15, -8(%r15)
	.cfi_def_cfa_offset 1184
	j	.
	.cfi_endproc
	.size	f, .-f
