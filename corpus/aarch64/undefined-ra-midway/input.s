# A thread start that gives its return address up.
	.text
	.type	f, @function
f:
	.cfi_startproc
	str	x0, [sp, -16]!
	.cfi_def_cfa_offset 16
	mov	x30, 0
	.cfi_undefined 30
	bl	f
	brk	1
	.cfi_endproc
	.size	f, .-f
