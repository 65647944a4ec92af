# The second start counts from another place than the first.
	.text
	.type f, @function
f:
	.cfi_startproc
	br	%r14
	.cfi_endproc
	.size f, .-f
	.type g, @function
g:
	.cfi_startproc
	stg	%r14, 112(%r15)
	.cfi_offset 14, -48
	lay	%r15, -1024(%r15)
	.cfi_def_cfa_offset 1184
	brasl	%r14, g
	j	.
	.cfi_endproc
	.size g, .-g
