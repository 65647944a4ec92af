# The return address is copied to a slot below, then written back.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	(%rsp)
	.cfi_def_cfa_offset 16
	.cfi_offset 16, -16
	movq	$0, 8(%rsp)
	popq	(%rsp)
	.cfi_def_cfa_offset 8
	.cfi_offset 16, -8
	ret
	.cfi_endproc
	.size	f, .-f
