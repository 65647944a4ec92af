# Accepted and without effect: rules of rbx and r12 in escapes.
	.text
	.type	f, @function
f:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_escape 0x10, 3, 2, 0x77, 8		# rbx = *(rsp + 8)
	.cfi_escape 0x14, 12, 2			# r12 = CFA - 16
	.cfi_def_cfa_offset 32
	call	*%rdi
	addq	$24, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	f, .-f
