# The size decides, not the last row.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stp	x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	.skip 65536
	brk	1
	.cfi_endproc
	.size	f, .-f
