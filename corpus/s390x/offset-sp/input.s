# r15 at CFA - 32: what lies there is CFA - 160, as r15 is at the first row.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stg	%r14, 112(%r15)
	.cfi_offset 14, -48
	stg	%r15, 128(%r15)
	.cfi_offset 15, -32
	lay	%r15, -160(%r15)
	.cfi_def_cfa_offset 320
	brasl	%r14, f
	j	.
	.cfi_endproc
	.size	f, .-f
