# RA at CFA-24 and rbp at CFA-16: six words in the row.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	pushq	8(%rsp)
	.cfi_def_cfa_offset 24
	.cfi_offset 16, -24
	movq	$0, 16(%rsp)
	ud2
	.cfi_endproc
	.size	f, .-f
