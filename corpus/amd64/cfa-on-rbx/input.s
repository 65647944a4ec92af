# rbx keeps the old stack pointer while another stack is in use.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	movq	%rsp, %rbx
	.cfi_def_cfa_register 3
	movq	%rdi, %rsp
	call	*%rsi
	movq	%rbx, %rsp
	.cfi_def_cfa_register 7
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	f, .-f
