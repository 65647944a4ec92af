# CFA = sp + 16 + 8 * VG: an expression that SFrame cannot say.
	.arch armv8-a+sve
	.text
	.type	f, @function
f:
	.cfi_startproc
	sub	sp, sp, 16
	.cfi_def_cfa_offset 16
	addvl	sp, sp, -1
	.cfi_escape 0x0f, 8, 0x8f, 16, 0x92, 46, 0, 0x38, 0x1e, 0x22
	addvl	sp, sp, 1
	.cfi_def_cfa 31, 16
	add	sp, sp, 16
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	f, .-f
