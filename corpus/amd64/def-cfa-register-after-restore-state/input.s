# .cfi_restore_state brings rsp + 16 back, .cfi_def_cfa_register makes it rbp + 16.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rdi
	.cfi_def_cfa_offset 16
	.cfi_remember_state
	popq	%rdi
	.cfi_def_cfa_offset 8
	ret
	.cfi_restore_state
	.cfi_def_cfa_register 6
	movq	(%rbp), %rax
	leaq	8(%rbp), %rsp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
	.size	f, .-f
