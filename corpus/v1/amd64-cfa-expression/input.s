# CFA = *(rsp + 16): no form in version 1.
	.text
	.type f, @function
f:
	.cfi_startproc simple
	.cfi_escape 0x0f, 3, 0x77, 16, 6
	call	*%rdi
	ud2
	.cfi_endproc
	.size f, .-f
