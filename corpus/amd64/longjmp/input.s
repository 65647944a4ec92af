# As glibc's __longjmp: all that is restored lies in registers, rsp in r8.
	.text
	.type	f, @function
f:
	.cfi_startproc
	nop
	.cfi_def_cfa 5, 0
	.cfi_register 7, 8
	.cfi_register 6, 9
	.cfi_register 16, 1
	movl	%esi, %eax
	movq	%r8, %rsp
	movq	%r9, %rbp
	jmp	*%rdx
	.cfi_endproc
	.size	f, .-f
