# The CFA is stored as (offset - 160) / 8; all numbers are big-endian.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stmg	%r11, %r15, 88(%r15)
	.cfi_offset 11, -72
	.cfi_offset 12, -64
	.cfi_offset 13, -56
	.cfi_offset 14, -48
	.cfi_offset 15, -40
	lay	%r15, -176(%r15)
	.cfi_def_cfa_offset 336
	lgr	%r11, %r15
	.cfi_def_cfa_register 11
	brasl	%r14, f
	lmg	%r11, %r15, 264(%r11)
	.cfi_restore 15
	.cfi_restore 14
	.cfi_restore 13
	.cfi_restore 12
	.cfi_restore 11
	.cfi_def_cfa 15, 160
	br	%r14
	.cfi_endproc
	.size	f, .-f
