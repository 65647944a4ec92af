# .cfi_val_encoded_addr of rbx: becomes a value expression.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rdi
	.cfi_def_cfa_offset 16
	.cfi_val_encoded_addr 3, 0x1b, f
	call	*%rsi
	ud2
	.cfi_endproc
	.size	f, .-f
