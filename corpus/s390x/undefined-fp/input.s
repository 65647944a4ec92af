# r11 overwritten without being kept.
	.text
	.type	f, @function
f:
	.cfi_startproc
	agr	%r2, %r3
	lghi	%r11, 0
	.cfi_undefined 11
	br	%r14
	.cfi_endproc
	.size	f, .-f
