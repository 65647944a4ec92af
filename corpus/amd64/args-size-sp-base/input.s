# The same in a frame without rbp; the CFA is adjusted by itself.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rdi
	.cfi_def_cfa_offset 16
	.cfi_escape 0x2e, 8			# DW_CFA_GNU_args_size: 8
	call	*%rdx
	popq	%rdi
	.cfi_def_cfa_offset 8
	.cfi_escape 0x2e, 0			# DW_CFA_GNU_args_size: 0
	ret
	.cfi_endproc
	.size	f, .-f
