# The width of the row starts depends on the size of the function.
	.text
	.type	bytes255, @function
bytes255:
	.cfi_startproc
	pushq	%rdi
	.cfi_def_cfa_offset 16
	.skip	252, 0x90
	popq	%rdi
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	bytes255, .-bytes255
	.type	bytes256, @function
bytes256:
	.cfi_startproc
	pushq	%rdi
	.cfi_def_cfa_offset 16
	.skip	253, 0x90
	popq	%rdi
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	bytes256, .-bytes256
