# A handler's caller, with ordinary rules.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa 31, 32
	.cfi_offset 30, -24
	.cfi_offset 29, -32
	mov	x8, 139
	svc	0
	.cfi_endproc
	.size	f, .-f
