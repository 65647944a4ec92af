# After a tail call the frame is said to be back, where no code follows.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rdi
	.cfi_def_cfa_offset 16
	call	*%rsi
	ud2
	.cfi_def_cfa_offset 8
	.cfi_endproc
	.size	f, .-f
