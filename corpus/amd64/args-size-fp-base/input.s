# DW_CFA_GNU_args_size says nothing about the frame.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%rdi
	pushq	%rsi
	.cfi_escape 0x2e, 16			# DW_CFA_GNU_args_size: 16
	call	*%rdx
	ud2
	.cfi_endproc
	.size	f, .-f
