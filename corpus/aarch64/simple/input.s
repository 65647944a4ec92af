# Nothing comes from the assembler's own initial rules.
	.text
	.type f, @function
f:
	.cfi_startproc simple
	.cfi_def_cfa 31, 16
	.cfi_offset 30, -16
	bl	f
	ldr	x30, [sp], 16
	.cfi_def_cfa 31, 0
	.cfi_same_value 30
	ret
	.cfi_endproc
	.size f, .-f
