# .cfi_same_value of the return address takes its rule away.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	(%rsp)
	.cfi_def_cfa_offset 16
	.cfi_offset 16, -16
	movq	%rdi, %rax
	addq	$16, %rsp
	.cfi_def_cfa_offset 0
	.cfi_same_value 16
	ud2
	.cfi_endproc
	.size	f, .-f
