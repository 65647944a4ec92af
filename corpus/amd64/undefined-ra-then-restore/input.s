# .cfi_restore ends .cfi_undefined: the rule of the CIE, CFA-8, holds again.
	.text
	.type	f, @function
f:
	.cfi_startproc
	xchgq	%rdi, %rsp
	.cfi_undefined 16
	call	*%rsi
	xchgq	%rdi, %rsp
	.cfi_restore 16
	nop
	ret
	.cfi_endproc
	.size	f, .-f
