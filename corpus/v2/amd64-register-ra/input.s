# rip in rbx: a flexible row, which version 2 has not.
	.text
	.type	f, @function
f:
	.cfi_startproc
	popq	%rbx
	.cfi_def_cfa_offset 0
	.cfi_register 16, 3
	call	*%rdi
	pushq	%rbx
	.cfi_def_cfa_offset 8
	.cfi_restore 16
	ret
	.cfi_endproc
	.size	f, .-f
