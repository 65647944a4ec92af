# r14 in f0 (16), r11 in f2 (17): words (16 << 1) | 1 and (17 << 1) | 1.
	.text
	.type	f, @function
f:
	.cfi_startproc
	ldgr	%f0, %r14
	.cfi_register 14, 16
	ldgr	%f2, %r11
	.cfi_register 11, 17
	lghi	%r14, 1
	lgr	%r11, %r2
	lgdr	%r11, %f2
	.cfi_restore 11
	lgdr	%r14, %f0
	.cfi_restore 14
	br	%r14
	.cfi_endproc
	.size	f, .-f
