# .cfi_register of rbx, together with a change that counts.
	.text
	.type	f, @function
f:
	.cfi_startproc
	movq	%rbx, %r11
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	.cfi_register 3, 11
	call	*%rdi
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	f, .-f
