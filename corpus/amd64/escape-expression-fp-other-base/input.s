# rbp = *(rsp + 8) by DW_CFA_expression: any base register is allowed.
	.text
	.type	f, @function
f:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_def_cfa_offset 32
	movq	%rbp, 8(%rsp)
	.cfi_escape 0x10, 6, 2, 0x77, 8		# DW_CFA_expression rbp: breg7 8
	call	*%rdi
	ud2
	.cfi_endproc
	.size	f, .-f
