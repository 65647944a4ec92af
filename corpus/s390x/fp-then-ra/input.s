# Padding gives way to an offset.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stg	%r11, 88(%r15)
	.cfi_offset 11, -72
	stg	%r14, 112(%r15)
	.cfi_offset 14, -48
	lay	%r15, -160(%r15)
	.cfi_def_cfa_offset 320
	brasl	%r14, f
	j	.
	.cfi_endproc
	.size	f, .-f
