# Three functions whose widths differ.
	.text
	.type f, @function
f:
	.cfi_startproc
	sub	sp, sp, 1024
	.cfi_def_cfa_offset 1024
	stp	x29, x30, [sp]
	.cfi_offset 29, -1024
	.cfi_offset 30, -1016
	.skip 248
	brk	1
	.cfi_endproc
	.size f, .-f
	.type g, @function
g:
	.cfi_startproc
	sub	sp, sp, 16, lsl 12
	.cfi_def_cfa_offset 65536
	stp	x29, x30, [sp]
	.cfi_offset 29, -65536
	.cfi_offset 30, -65528
	.skip 65536
	brk	1
	.cfi_endproc
	.size g, .-g
	.type h, @function
h:
	.cfi_startproc
	ret
	.cfi_endproc
	.size h, .-h
