# Three kinds of rule for rbp in one function.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_escape 0x10, 6, 2, 0x76, 0		# rbp = *(rbp + 0)
	movq	(%rbp), %r12
	.cfi_register 6, 12
	movq	%r12, (%rsp)
	.cfi_offset 6, -16
	popq	%rbp
	.cfi_def_cfa_offset 8
	.cfi_restore 6
	ret
	.cfi_endproc
	.size	f, .-f
