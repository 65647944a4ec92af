# .cfi_same_value: the register holds the caller's value, saved copy or not.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	xorl	%ebp, %ebp
	movq	(%rsp), %rbp
	.cfi_same_value 6
	.cfi_same_value 3
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	f, .-f
