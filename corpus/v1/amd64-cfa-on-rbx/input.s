# rbx holds the frame while rsp is realigned.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	movq	%rsp, %rbx
	.cfi_def_cfa_register 3
	andq	$-64, %rsp
	call	*%rdi
	movq	%rbx, %rsp
	.cfi_def_cfa_register 7
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	f, .-f
