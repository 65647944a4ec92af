# .cfi_register of rbp.
	.text
	.type	f, @function
f:
	.cfi_startproc
	movq	%rbp, %r11
	.cfi_register 6, 11
	movl	$7, %ebp
	movq	%r11, %rbp
	.cfi_same_value 6
	ret
	.cfi_endproc
	.size	f, .-f
