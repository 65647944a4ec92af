# DW_CFA_GNU_window_save is of other machines.
	.text
	.type	f, @function
f:
	.cfi_startproc
	agr	%r2, %r3
	agr	%r2, %r3
	.cfi_window_save
	br	%r14
	.cfi_endproc
	.size	f, .-f
