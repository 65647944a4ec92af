# CFA 127 and 128, rbp at -128 and at -136, each on its own.
	.text
	.type	f, @function
f:
	.cfi_startproc
	subq	$119, %rsp
	.cfi_def_cfa_offset 127
	subq	$1, %rsp
	.cfi_def_cfa_offset 128
	addq	$8, %rsp
	.cfi_def_cfa_offset 120
	movq	%rbp, -8(%rsp)
	.cfi_offset 6, -128
	movq	%rbp, -16(%rsp)
	.cfi_offset 6, -136
	ud2
	.cfi_endproc
	.size	f, .-f
