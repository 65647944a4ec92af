# DW_CFA_val_expression of rbp.
	.text
	.type	f, @function
f:
	.cfi_startproc
	subq	$16, %rbp
	.cfi_escape 0x16, 6, 2, 0x76, 16	# rbp = rbp + 16
	call	*%rdi
	addq	$16, %rbp
	.cfi_restore 6
	ret
	.cfi_endproc
	.size	f, .-f
