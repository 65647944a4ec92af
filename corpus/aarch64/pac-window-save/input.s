# .cfi_window_save is opcode 0x2d as well: here it says that the return address is signed.
	.text
	.type	f, @function
f:
	.cfi_startproc
	paciasp
	.cfi_window_save
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	bl	f
	ldp	x29, x30, [sp], 32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	autiasp
	.cfi_window_save
	ret
	.cfi_endproc
	.size	f, .-f
