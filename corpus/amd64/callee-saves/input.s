# rbx and r12 saved without moving the CFA: nothing SFrame records changes there.
	.text
	.type	f, @function
f:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_def_cfa_offset 32
	movq	%rbx, 8(%rsp)
	.cfi_offset 3, -24
	movq	%r12, 16(%rsp)
	.cfi_offset 12, -16
	ud2
	.cfi_endproc
	.size	f, .-f
