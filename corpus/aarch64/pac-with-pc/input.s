# DW_CFA_AARCH64_negate_ra_state_with_pc: SFrame has no bit for it.
	.arch armv8-a+pauth-lr
	.text
	.type	f, @function
f:
	.cfi_startproc
	nop
	paciasppc
	.cfi_negate_ra_state_with_pc
	stp	x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	bl	f
	brk	1
	.cfi_endproc
	.size	f, .-f
