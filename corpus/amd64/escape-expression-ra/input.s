# Return address = *(rbx + 8), said by an expression.
	.text
	.type	f, @function
f:
	.cfi_startproc
	movq	%rdi, %rbx
	.cfi_escape 0x10, 16, 2, 0x73, 8	# DW_CFA_expression rip: breg3 8
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	call	*%rsi
	ud2
	.cfi_endproc
	.size	f, .-f
