# .cfi_val_offset of sp with offset 0.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_val_offset 31, 0
	str	x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 30, -16
	bl	f
	brk	1
	.cfi_endproc
	.size	f, .-f
