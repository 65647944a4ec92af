# r11 in f2 (DWARF register 17), r14 unchanged.
	.text
	.type	f, @function
f:
	.cfi_startproc
	ldgr	%f2, %r11
	.cfi_register 11, 17
	lgr	%r11, %r2
	lgdr	%r11, %f2
	.cfi_restore 11
	br	%r14
	.cfi_endproc
	.size	f, .-f
