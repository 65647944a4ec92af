# A switch of stacks: the old sp lies in the frame.
	.text
	.type	f, @function
f:
	.cfi_startproc
	str	x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 30, -16
	.cfi_offset 31, -8
	bl	f
	brk	1
	.cfi_endproc
	.size	f, .-f
