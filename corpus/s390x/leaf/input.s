# CFA = r15 + 160, stored as (160 - 160) / 8.
	.text
	.type	f, @function
f:
	.cfi_startproc
	agr	%r2, %r3
	br	%r14
	.cfi_endproc
	.size	f, .-f
