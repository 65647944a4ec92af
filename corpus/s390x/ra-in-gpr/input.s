# r14 in r1.
	.text
	.type	f, @function
f:
	.cfi_startproc
	lgr	%r1, %r14
	.cfi_register 14, 1
	lghi	%r14, 1
	lgr	%r14, %r1
	.cfi_restore 14
	br	%r14
	.cfi_endproc
	.size	f, .-f
