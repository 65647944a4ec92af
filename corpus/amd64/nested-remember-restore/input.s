# Two states remembered, two restored: the second restore must give rsp+16.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rdi
	.cfi_def_cfa_offset 16
	testl	%edi, %edi
	.cfi_remember_state
	pushq	%rsi
	.cfi_def_cfa_offset 24
	testl	%esi, %esi
	.cfi_remember_state
	addq	$16, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_restore_state
	popq	%rsi
	ret	$8
	.cfi_restore_state
	popq	%rdi
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	f, .-f
