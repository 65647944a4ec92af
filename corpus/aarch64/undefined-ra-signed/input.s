# Neither data words nor bits belong to a row of an outermost frame.
	.text
	.type	f, @function
f:
	.cfi_startproc
	paciasp
	.cfi_negate_ra_state
	mov	x30, 0
	.cfi_undefined 30
	bl	f
	brk	1
	.cfi_endproc
	.size	f, .-f
