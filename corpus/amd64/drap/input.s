# What a compiler makes of locals aligned to 32: CFA on r10, then *(rbp - 8).
	.text
	.type	f, @function
f:
	.cfi_startproc
	leaq	8(%rsp), %r10
	.cfi_def_cfa 10, 0
	andq	$-32, %rsp
	pushq	-8(%r10)
	pushq	%rbp
	movq	%rsp, %rbp
	.cfi_escape 0x10, 6, 2, 0x76, 0		# rbp = *(rbp + 0)
	pushq	%r10
	.cfi_escape 0x0f, 3, 0x76, 0x78, 6	# CFA = *(rbp - 8)
	subq	$40, %rsp
	call	*%rdi
	addq	$40, %rsp
	popq	%r10
	.cfi_def_cfa 10, 0
	popq	%rbp
	leaq	-8(%r10), %rsp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
	.size	f, .-f
