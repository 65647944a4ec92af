# r10 holds the frame: a flexible row, whose CFA offset is scaled as well.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stmg	%r10, %r15, 80(%r15)
	.cfi_offset 10, -80
	.cfi_offset 11, -72
	.cfi_offset 14, -48
	.cfi_offset 15, -40
	lgr	%r10, %r15
	.cfi_def_cfa_register 10
	lay	%r15, -160(%r15)
	nill	%r15, 65472
	brasl	%r14, f
	j	.
	.cfi_endproc
	.size	f, .-f
