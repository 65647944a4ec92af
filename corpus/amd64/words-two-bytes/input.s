# CFA 32767 and 32768, rbp at -32768 and at -32776, each on its own.
	.text
	.type	f, @function
f:
	.cfi_startproc
	subq	$32759, %rsp
	.cfi_def_cfa_offset 32767
	subq	$1, %rsp
	.cfi_def_cfa_offset 32768
	addq	$8, %rsp
	.cfi_def_cfa_offset 32760
	movq	%rbp, -8(%rsp)
	.cfi_offset 6, -32768
	movq	%rbp, -16(%rsp)
	.cfi_offset 6, -32776
	ud2
	.cfi_endproc
	.size	f, .-f
