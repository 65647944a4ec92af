# .cfi_signal_frame on a function that the default form can describe.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_signal_frame
	pushq	%rdi
	.cfi_def_cfa_offset 16
	call	*%rsi
	ud2
	.cfi_endproc
	.size	f, .-f
