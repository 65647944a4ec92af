# The CIE says that rbp is saved; .cfi_register overrides, .cfi_restore returns to it.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	(%rsp), %r11
	.cfi_register 6, 11
	movq	$0, (%rsp)
	movq	%r11, (%rsp)
	.cfi_restore 6
	nop
	ud2
	.cfi_endproc
	.size	f, .-f
