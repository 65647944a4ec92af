# r15 in f4 (DWARF register 18) while the CFA counts from r2 for a stretch, as when stacks are switched.
	.text
	.type	f, @function
f:
	.cfi_startproc
	ldgr	%f4, %r15
	.cfi_register 15, 18
	lgr	%r15, %r2
	.cfi_def_cfa 2, 160
	lgdr	%r15, %f4
	.cfi_restore 15
	.cfi_def_cfa 15, 160
	br	%r14
	.cfi_endproc
	.size	f, .-f
