# -128 and -32768 as the place of rbp.
	.text
	.type	f, @function
f:
	.cfi_startproc
	nop
	.cfi_offset 6, -128
	nop
	.cfi_offset 6, -32768
	ud2
	.cfi_endproc
	.size	f, .-f
