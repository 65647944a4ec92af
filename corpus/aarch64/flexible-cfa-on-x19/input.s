# x19 holds the frame while sp is realigned.
	.text
	.type	f, @function
f:
	.cfi_startproc
	mov	x19, sp
	.cfi_def_cfa_register 19
	and	sp, x19, -64
	str	x0, [sp]
	mov	sp, x19
	.cfi_def_cfa_register 31
	ret
	.cfi_endproc
	.size	f, .-f
