# .cfi_return_column: rbx holds the return address.
	.text
	.type	f, @function
f:
	.cfi_startproc simple
	.cfi_return_column 3
	.cfi_def_cfa 7, 0
	movq	%rdi, %rax
	jmp	*%rbx
	.cfi_endproc
	.size	f, .-f
