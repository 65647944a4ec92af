# r14 in f0 (DWARF register 16).
	.text
	.type	f, @function
f:
	.cfi_startproc
	ldgr	%f0, %r14
	.cfi_register 14, 16
	lghi	%r14, 1
	lgdr	%r14, %f0
	.cfi_restore 14
	br	%r14
	.cfi_endproc
	.size	f, .-f
