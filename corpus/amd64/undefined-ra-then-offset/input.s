# An entry point that makes a return address up and goes on as a function.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_undefined 16
	.cfi_def_cfa_offset 0
	leaq	1f(%rip), %rax
	pushq	%rax
	.cfi_def_cfa_offset 8
	.cfi_offset 16, -8
	nop
1:	ret
	.cfi_endproc
	.size	f, .-f
