# .cfi_register of the return address: popped into rbx, pushed back at the end.
	.text
	.type	f, @function
f:
	.cfi_startproc
	popq	%rbx
	.cfi_def_cfa_offset 0
	.cfi_register 16, 3
	movq	%rdi, %rax
	pushq	%rbx
	.cfi_def_cfa_offset 8
	.cfi_offset 16, -8
	ret
	.cfi_endproc
	.size	f, .-f
