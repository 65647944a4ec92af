# Between the two functions lie a routine without CFI and some padding.
	.text
	.type	before, @function
before:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_def_cfa_offset 32
	addq	$24, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	before, .-before
	.type	unknown, @function
unknown:
	pushq	%rax
	popq	%rax
	ret
	.size	unknown, .-unknown
	.p2align 6
	.type	after, @function
after:
	.cfi_startproc
	xorl	%eax, %eax
	ret
	.cfi_endproc
	.size	after, .-after
