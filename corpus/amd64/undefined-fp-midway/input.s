# .cfi_undefined of rbp for a stretch: two parts remain.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rdi
	.cfi_def_cfa_offset 16
	xorl	%ebp, %ebp
	.cfi_undefined 6
	call	*%rsi
	movq	%rax, %rbp
	.cfi_same_value 6
	popq	%rdi
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	f, .-f
