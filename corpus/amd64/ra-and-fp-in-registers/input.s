# A millicode routine: nothing is on the stack.
	.text
	.type	f, @function
f:
	.cfi_startproc
	popq	%r11
	.cfi_def_cfa_offset 0
	.cfi_register 16, 11
	movq	%rbp, %r12
	.cfi_register 6, 12
	xorl	%ebp, %ebp
	movq	%r12, %rbp
	.cfi_restore 6
	jmp	*%r11
	.cfi_endproc
	.size	f, .-f
