# .cfi_rel_offset: rbp lies at 0(%rsp) when the CFA is rsp + 16.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movl	$1, %ebp
	call	*%rdi
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size	f, .-f
