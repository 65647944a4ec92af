# .cfi_val_offset of rbp: the value itself is CFA - 16.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_val_offset 6, -16
	nop
	ret
	.cfi_endproc
	.size	f, .-f
