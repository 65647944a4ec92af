# .cfi_startproc simple drops the initial rules; only the CFA is given here.
	.text
	.type	f, @function
f:
	.cfi_startproc simple
	.cfi_def_cfa 7, 8
	nop
	ret
	.cfi_endproc
	.size	f, .-f
