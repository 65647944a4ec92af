# DW_CFA_nop, given byte by byte.
	.text
	.type	f, @function
f:
	.cfi_startproc
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	call	*%rdi
	.cfi_escape 0x00, 0x00
	ud2
	.cfi_endproc
	.size	f, .-f
