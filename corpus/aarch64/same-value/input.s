# x29 and x30 loaded again.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	bl	f
	ldp	x29, x30, [sp], 32
	.cfi_same_value 30
	.cfi_same_value 29
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	f, .-f
