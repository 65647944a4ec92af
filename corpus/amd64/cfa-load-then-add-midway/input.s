# The usual form: rax keeps the old rsp, then 40(%rsp) does, then rsp is back.
	.text
	.type	f, @function
f:
	.cfi_startproc
	movq	%rsp, %rax
	.cfi_def_cfa_register 0
	subq	$128, %rsp
	andq	$-64, %rsp
	movq	%rax, 40(%rsp)
	.cfi_escape 0x0f, 5, 0x77, 40, 6, 0x23, 8	# CFA = *(rsp + 40) + 8
	vzeroupper
	movq	40(%rsp), %rsi
	.cfi_def_cfa 4, 8
	leaq	(%rsi), %rsp
	.cfi_def_cfa_register 7
	ret
	.cfi_endproc
	.size	f, .-f
