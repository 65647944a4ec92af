# rbx kept in r12.
	.text
	.type	f, @function
f:
	.cfi_startproc
	movq	%rbx, %r12
	.cfi_register 3, 12
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	ud2
	.cfi_endproc
	.size	f, .-f
