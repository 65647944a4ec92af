# .cfi_offset of rsp: a stack switch keeps the old rsp at CFA-16.
	.text
	.type	f, @function
f:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_def_cfa_offset 32
	movq	%rdi, 16(%rsp)
	.cfi_offset 7, -16
	call	*%rsi
	movq	16(%rsp), %rsp
	ud2
	.cfi_endproc
	.size	f, .-f
