# The same at the next limit.
	.text
	.type	bytes65535, @function
bytes65535:
	.cfi_startproc
	pushq	%rdi
	.cfi_def_cfa_offset 16
	.skip	65532, 0x90
	popq	%rdi
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	bytes65535, .-bytes65535
	.type	bytes65536, @function
bytes65536:
	.cfi_startproc
	pushq	%rdi
	.cfi_def_cfa_offset 16
	.skip	65533, 0x90
	popq	%rdi
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	bytes65536, .-bytes65536
