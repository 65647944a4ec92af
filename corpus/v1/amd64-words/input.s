# 127 and 128, 32767 and 32768.
	.text
	.type	f, @function
f:
	.cfi_startproc
	subq	$119, %rsp
	.cfi_def_cfa_offset 127
	nop
	.cfi_def_cfa_offset 128
	nop
	.cfi_def_cfa_offset 32767
	nop
	.cfi_def_cfa_offset 32768
	nop
	.cfi_offset 6, -65536
	ud2
	.cfi_endproc
	.size	f, .-f
