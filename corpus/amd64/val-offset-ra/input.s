# .cfi_val_offset of rip: execution goes on in code that lies on the stack.
	.text
	.type	f, @function
f:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_def_cfa_offset 32
	leaq	16(%rsp), %rax
	.cfi_val_offset 16, -16
	call	*%rax
	ud2
	.cfi_endproc
	.size	f, .-f
