# The first function has no byte (what a compiler makes of an unreachable body).
	.text
	.type	nothing, @function
nothing:
	.cfi_startproc
	.cfi_endproc
	.size	nothing, .-nothing
	.type	something, @function
something:
	.cfi_startproc
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	something, .-something
