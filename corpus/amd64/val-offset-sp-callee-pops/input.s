# .cfi_val_offset of rsp other than 0: ret $16 pops more than the return address.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_val_offset 7, 16
	movq	8(%rsp), %rax
	ret	$16
	.cfi_endproc
	.size	f, .-f
