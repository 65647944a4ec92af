# 4 GiB of locals: no data word holds the offset.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	movabsq	$0xfffffff0, %rax
	subq	%rax, %rsp
	.cfi_def_cfa_offset 0x100000000
	ud2
	.cfi_endproc
	.size	f, .-f
