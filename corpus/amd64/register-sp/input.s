# .cfi_register of rsp: the rule of rsp is not the CFA any more.
	.text
	.type	f, @function
f:
	.cfi_startproc
	leaq	8(%rsp), %r10
	.cfi_register 7, 10
	call	*%rdi
	nop
	.cfi_restore 7
	ret
	.cfi_endproc
	.size	f, .-f
