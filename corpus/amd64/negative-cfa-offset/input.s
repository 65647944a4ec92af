# A CFA below rsp, in the words of LLVM: an unsigned LEB128 of 2^64 - 8.
	.text
	.type	f, @function
f:
	.cfi_startproc
	nop
	.cfi_escape 0x0e, 0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01
	addq	$-8, %rsp
	.cfi_escape 0x13, 0
	nop
	.cfi_endproc
	.size	f, .-f
