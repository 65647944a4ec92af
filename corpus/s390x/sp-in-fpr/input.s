# r15 in f4 (DWARF register 18).
	.text
	.type	f, @function
f:
	.cfi_startproc
	ldgr	%f4, %r15
	.cfi_register 15, 18
	lay	%r15, -160(%r15)
	.cfi_def_cfa_offset 320
	lgdr	%r15, %f4
	.cfi_restore 15
	.cfi_def_cfa_offset 160
	br	%r14
	.cfi_endproc
	.size	f, .-f
