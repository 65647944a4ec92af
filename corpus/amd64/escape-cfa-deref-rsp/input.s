# CFA = *(rsp + 16).
	.text
	.type	f, @function
f:
	.cfi_startproc
	leaq	8(%rsp), %rax
	subq	$40, %rsp
	movq	%rax, 16(%rsp)
	.cfi_escape 0x0f, 3, 0x77, 16, 6
	.cfi_escape 0x2e, 0			# DW_CFA_GNU_args_size: 0
	ud2
	.cfi_endproc
	.size	f, .-f
