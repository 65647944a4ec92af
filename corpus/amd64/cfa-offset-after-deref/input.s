# .cfi_def_cfa_offset needs a register and an offset; here the CFA is *(rbp - 8).
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rdi
	.cfi_def_cfa_offset 16
	movq	%rdi, -8(%rbp)
	.cfi_escape 0x0f, 3, 0x76, 0x78, 6	# DW_CFA_def_cfa_expression: breg6 -8; deref
	call	*%rsi
	.cfi_def_cfa_offset 24
	ud2
	.cfi_endproc
	.size	f, .-f
