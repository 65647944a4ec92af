# A frame of 64 KiB with the frame record at its bottom.
	.text
	.type	f, @function
f:
	.cfi_startproc
	sub	sp, sp, 16, lsl 12
	.cfi_def_cfa_offset 65536
	stp	x29, x30, [sp]
	.cfi_offset 29, -65536
	.cfi_offset 30, -65528
	bl	f
	brk	1
	.cfi_endproc
	.size	f, .-f
