# x30 at CFA + 0.
	.text
	.type	f, @function
f:
	.cfi_startproc
	str	x30, [sp]
	.cfi_offset 30, 0
	bl	f
	brk	1
	.cfi_endproc
	.size	f, .-f
