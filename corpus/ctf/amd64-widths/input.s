# A function of 256 bytes and one of more than 64 KiB.
	.text
	.type f, @function
f:
	.cfi_startproc
	subq	$119, %rsp
	.cfi_def_cfa_offset 127
	.cfi_offset 6, -128
	.skip 251
	ret
	.cfi_endproc
	.size f, .-f
	.type g, @function
g:
	.cfi_startproc
	nop
	.cfi_offset 6, -136
	nop
	.cfi_offset 6, -32776
	.skip 65536
	ret
	.cfi_endproc
	.size g, .-g
