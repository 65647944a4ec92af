# .cfi_adjust_cfa_offset: the assembler adds up.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	call	*%rdx
	addq	$16, %rsp
	.cfi_adjust_cfa_offset -16
	ret
	.cfi_endproc
	.size	f, .-f
