# r16 (DWARF 130) as base: the control word takes two bytes.
	.text
	.type	f, @function
f:
	.cfi_startproc
	leaq	8(%rsp), %r16
	.cfi_def_cfa 130, 0
	andq	$-64, %rsp
	call	*%rdi
	leaq	-8(%r16), %rsp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
	.size	f, .-f
