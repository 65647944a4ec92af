# The outer state must come back behind the inner one.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_remember_state
	sub	sp, sp, 16
	.cfi_def_cfa_offset 16
	.cfi_remember_state
	sub	sp, sp, 16
	.cfi_def_cfa_offset 32
	nop
	.cfi_restore_state
	nop
	.cfi_restore_state
	ret
	.cfi_endproc
	.size	f, .-f
