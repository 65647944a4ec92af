# Two functions; the second start counts from another place than the first.
	.text
	.type f, @function
f:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	call	*%rdi
	popq	%rbp
	.cfi_restore 6
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
	.size f, .-f
	.type g, @function
g:
	.cfi_startproc
	ret
	.cfi_endproc
	.size g, .-g
