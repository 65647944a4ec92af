# CFA = *(rbp - 128): the LEB128 offset takes two bytes.
	.text
	.type	f, @function
f:
	.cfi_startproc
	movq	%rax, -128(%rbp)
	.cfi_escape 0x0f, 4, 0x76, 0x80, 0x7f, 6
	call	*%rdi
	ud2
	.cfi_endproc
	.size	f, .-f
