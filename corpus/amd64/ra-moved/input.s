# The return address is not where call puts it: a shadow copy one slot below.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	.cfi_offset 16, -16
	movq	%rdi, %rax
	ret	$8
	.cfi_endproc
	.size	f, .-f
