# r14 in v16 (DWARF register 68).
	.text
	.type	f, @function
f:
	.cfi_startproc
	vlvgg	%v16, %r14, 0
	.cfi_register 14, 68
	lghi	%r14, 1
	vlgvg	%r14, %v16, 0
	.cfi_restore 14
	br	%r14
	.cfi_endproc
	.size	f, .-f
