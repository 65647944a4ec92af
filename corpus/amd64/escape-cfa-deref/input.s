# CFA = *(rbp - 16), its offset given by sleb128().
	.text
	.type	f, @function
f:
	.cfi_startproc
	movq	%rax, -16(%rbp)
	.cfi_escape 0x0f, 3, 0x76, sleb128(-16), 6
	call	*%rdi
	leaq	-8(%rax), %rsp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
	.size	f, .-f
