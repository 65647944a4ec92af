# Both kinds of rule in one flexible row.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stg	%r14, 112(%r15)
	.cfi_offset 14, -48
	ldgr	%f2, %r11
	.cfi_register 11, 17
	lay	%r15, -160(%r15)
	.cfi_def_cfa_offset 320
	brasl	%r14, f
	j	.
	.cfi_endproc
	.size	f, .-f
