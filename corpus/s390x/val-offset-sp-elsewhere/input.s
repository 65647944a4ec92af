# .cfi_val_offset of r15 with offset -152.
	.text
	.type	f, @function
f:
	.cfi_startproc
	agr	%r2, %r3
	lay	%r15, -168(%r15)
	.cfi_def_cfa_offset 320
	.cfi_val_offset 15, -152
	j	.
	.cfi_endproc
	.size	f, .-f
