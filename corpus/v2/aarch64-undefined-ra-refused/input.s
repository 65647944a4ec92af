# A program start, written for an older reader: no row.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_undefined 30
	mov	x29, 0
	bl	f
	brk	1
	.cfi_endproc
	.size	f, .-f
