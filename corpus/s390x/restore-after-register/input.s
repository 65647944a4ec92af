# r14 is on the stack at first, then in f0, then restored.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_escape 0x2e, 0 # DW_CFA_GNU_args_size: 0
	.cfi_offset 14, -48
	ldgr	%f0, %r14
	.cfi_register 14, 16
	lgdr	%r14, %f0
	.cfi_restore 14
	br	%r14
	.cfi_endproc
	.size	f, .-f
