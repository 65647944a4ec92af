# Hot and cold part, each with an FDE of its own.
	.text
	.type	f.cold, @function
f.cold:
	.cfi_startproc
	.cfi_def_cfa_offset 32
	.cfi_offset 6, -16
	call	*%rdi
	ud2
	.cfi_endproc
	.size	f.cold, .-f.cold
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	subq	$16, %rsp
	.cfi_def_cfa_offset 32
	jmp	f.cold
	.cfi_endproc
	.size	f, .-f
