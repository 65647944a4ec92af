# r14 at r1 + 8 by a DWARF expression.
	.text
	.type	f, @function
f:
	.cfi_startproc
	lgr	%r1, %r2
	stg	%r14, 8(%r1)
	.cfi_escape 0x10, 14, 2, 0x71, 8
	brasl	%r14, f
	j	.
	.cfi_endproc
	.size	f, .-f
