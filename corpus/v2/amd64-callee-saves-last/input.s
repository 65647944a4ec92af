# rbx saved after the last change of what SFrame records.
	.text
	.type	f, @function
f:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_def_cfa_offset 32
	movq	%rbx, 8(%rsp)
	.cfi_offset 3, -24
	ud2
	.cfi_endproc
	.size	f, .-f
