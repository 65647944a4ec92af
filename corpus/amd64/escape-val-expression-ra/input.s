# DW_CFA_val_expression of rip: the caller passed rbx and skips 4 bytes.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_def_cfa_offset 0
	.cfi_escape 0x16, 16, 2, 0x73, 4	# rip = rbx + 4
	leaq	4(%rbx), %rcx
	jmp	*%rcx
	.cfi_endproc
	.size	f, .-f
