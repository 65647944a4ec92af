# All rules hold from the first byte, the signed state among them.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	.cfi_negate_ra_state
	bl	f
	brk	1
	.cfi_endproc
	.size	f, .-f
