# .cfi_remember_state and .cfi_restore_state around an early return.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	testl	%edi, %edi
	jne	1f
	.cfi_remember_state
	popq	%rbp
	.cfi_def_cfa 7, 8
	.cfi_restore 6
	ret
1:	.cfi_restore_state
	call	*%rsi
	ud2
	.cfi_endproc
	.size	f, .-f
