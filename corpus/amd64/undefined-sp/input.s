# .cfi_undefined of rsp: the CFA is known, the caller's rsp is not.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_undefined 7
	nop
	ret
	.cfi_endproc
	.size	f, .-f
