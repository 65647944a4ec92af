# A thread start that gives its return address up.
	.text
	.type	f, @function
f:
	.cfi_startproc
	lay	%r15, -160(%r15)
	.cfi_def_cfa_offset 320
	lghi	%r14, 0
	.cfi_undefined 14
	brasl	%r14, f
	j	.
	.cfi_endproc
	.size	f, .-f
