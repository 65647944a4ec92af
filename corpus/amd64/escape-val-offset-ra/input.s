# DW_CFA_val_offset of rip, given byte by byte.
	.text
	.type	f, @function
f:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_def_cfa_offset 32
	leaq	16(%rsp), %rax
	.cfi_escape 0x14, 16, 2			# DW_CFA_val_offset rip: 2 * -8
	call	*%rax
	ud2
	.cfi_endproc
	.size	f, .-f
