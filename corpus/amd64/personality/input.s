# Exception data lengthens the augmentation, nothing else.
	.text
	.type	handler, @function
handler:
	ret
	.size	handler, .-handler
	.type	f, @function
f:
	.cfi_startproc
	.cfi_personality 0x1b, handler
	.cfi_lsda 0x1b, table
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	call	*%rdi
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	f, .-f
	.section .rodata
table:
	.byte	0xff, 0xff, 1, 0
