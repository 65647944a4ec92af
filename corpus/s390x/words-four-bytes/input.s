# Return address and frame pointer at the far end of a large frame.
	.text
	.type	f, @function
f:
	.cfi_startproc
	agfi	%r15, -1048576
	.cfi_def_cfa_offset 1048736
	stg	%r14, 160(%r15)
	.cfi_offset 14, -1048576
	stg	%r11, 168(%r15)
	.cfi_offset 11, -1048568
	j	.
	.cfi_endproc
	.size	f, .-f
