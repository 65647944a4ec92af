# Ordinary rules in a signal frame.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa 7, 160
	movq	$15, %rax
	syscall
	.cfi_endproc
	.size	f, .-f
