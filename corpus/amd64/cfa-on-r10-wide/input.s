# r10 + 200: every word of the row takes two bytes.
	.text
	.type	f, @function
f:
	.cfi_startproc
	leaq	-192(%rsp), %r10
	.cfi_def_cfa 10, 200
	pushq	%rbp
	.cfi_offset 6, -16
	call	*%rdi
	ud2
	.cfi_endproc
	.size	f, .-f
