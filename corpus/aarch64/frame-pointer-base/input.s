# A frame with a part of unknown size: CFA = x29 + 32 between prologue and epilogue.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	.cfi_def_cfa_register 29
	sub	sp, sp, x0
	bl	f
	mov	sp, x29
	.cfi_def_cfa_register 31
	ldp	x29, x30, [sp], 32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	f, .-f
