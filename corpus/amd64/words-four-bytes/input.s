# The largest CFA offset a word can hold, and rbp as far down as a frame can be.
	.text
	.type	f, @function
f:
	.cfi_startproc
	subq	$0x7ffffff7, %rsp
	.cfi_def_cfa_offset 0x7fffffff
	subq	$-7, %rsp
	.cfi_def_cfa_offset 0x7ffffff8
	movq	%rbp, -8(%rsp)
	.cfi_offset 6, -0x80000000
	ud2
	.cfi_endproc
	.size	f, .-f
