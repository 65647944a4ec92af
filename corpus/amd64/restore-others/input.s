# .cfi_offset and .cfi_restore of rbx: SFrame records neither.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	movl	%edi, %ebx
	popq	%rbx
	.cfi_def_cfa_offset 8
	nop
	.cfi_restore 3
	ret
	.cfi_endproc
	.size	f, .-f
