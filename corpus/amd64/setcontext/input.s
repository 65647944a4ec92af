# As glibc's setcontext: all that is restored lies in a structure at rdx, rsp not where the CFA is.
	.text
	.type	f, @function
f:
	.cfi_startproc
	nop
	.cfi_def_cfa 1, 0
	.cfi_offset 7, 160
	.cfi_offset 6, 120
	.cfi_offset 16, 168
	movq	160(%rdx), %rsp
	movq	120(%rdx), %rbp
	pushq	168(%rdx)
	ret
	.cfi_endproc
	.size	f, .-f
