# r6 saved after the last change of what SFrame records.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stg	%r14, 112(%r15)
	.cfi_offset 14, -48
	stg	%r6, 48(%r15)
	.cfi_offset 6, -112
	j	.
	.cfi_endproc
	.size	f, .-f
