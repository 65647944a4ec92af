# CFA = *(rsp + 40) + 8: a load and then an addition.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 5, 0x77, 40, 6, 0x23, 8
	nop
	ret
	.cfi_endproc
	.size	f, .-f
