# .cfi_restore of the return address: back to CFA-8.
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
	xorl	%ebx, %ebx
	ret
	.cfi_endproc
	.size	f, .-f
