# Ordinary rules in a signal frame.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa 15, 320
	.cfi_offset 14, -48
	svc	119
	.cfi_endproc
	.size	f, .-f
