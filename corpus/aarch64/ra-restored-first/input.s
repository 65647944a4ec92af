# Between the two loads only x29 is still saved.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	bl	f
	ldr	x30, [sp, 8]
	.cfi_restore 30
	ldr	x29, [sp], 32
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	f, .-f
