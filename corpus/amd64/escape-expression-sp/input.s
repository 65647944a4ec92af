# rsp = *(rsp + 16) while the CFA is rsp + 8.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_escape 0x10, 7, 2, 0x77, 16
	nop
	ret
	.cfi_endproc
	.size	f, .-f
