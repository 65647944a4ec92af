# CFA = *(r15 + 160): GNU reads no such expression on this machine.
	.text
	.type	f, @function
f:
	.cfi_startproc
	la	%r1, 160(%r15)
	stg	%r1, -16(%r15)
	lay	%r15, -176(%r15)
	.cfi_escape 0x0f, 4, 0x7f, 0xa0, 1, 6
	j	.
	.cfi_endproc
	.size	f, .-f
