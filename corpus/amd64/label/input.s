# .cfi_label marks a place in .eh_frame, it says nothing about the frame.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rdi
	.cfi_def_cfa_offset 16
	.cfi_label here
	call	*%rsi
	ud2
	.cfi_endproc
	.size	f, .-f
