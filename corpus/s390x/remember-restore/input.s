# One level of states.
	.text
	.type	f, @function
f:
	.cfi_startproc
	stmg	%r11, %r15, 88(%r15)
	.cfi_offset 11, -72
	.cfi_offset 14, -48
	.cfi_offset 15, -40
	ltgr	%r2, %r2
	je	1f
	.cfi_remember_state
	lmg	%r11, %r15, 88(%r15)
	.cfi_restore 15
	.cfi_restore 14
	.cfi_restore 11
	br	%r14
1:
	.cfi_restore_state
	lay	%r15, -160(%r15)
	.cfi_def_cfa_offset 320
	j	.
	.cfi_endproc
	.size	f, .-f
