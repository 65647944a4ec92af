# .cfi_val_offset of r15 with offset -160.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_val_offset 15, -160
	lay	%r15, -160(%r15)
	.cfi_def_cfa_offset 320
	j	.
	.cfi_endproc
	.size	f, .-f
