# The caller's rbp is the value CFA - 16.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_escape 0x14, 6, 2			# rbp = CFA - 16
	nop
	ret
	.cfi_endproc
	.size	f, .-f
