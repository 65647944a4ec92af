# r11 at CFA - 72, r14 unchanged.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stg	%r11, 88(%r15)
	.cfi_offset 11, -72
	lgr	%r11, %r2
	lg	%r11, 88(%r15)
	.cfi_restore 11
	br	%r14
	.cfi_endproc
	.size	f, .-f
