# The size decides, not the last row.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stg	%r14, 112(%r15)
	.cfi_offset 14, -48
	.skip 256
	br	%r14
	.cfi_endproc
	.size	f, .-f
