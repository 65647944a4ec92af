# .cfi_val_offset of rsp: the caller's rsp is the CFA itself.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_val_offset 7, 0
	pushq	%rdi
	.cfi_def_cfa_offset 16
	popq	%rdi
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	f, .-f
