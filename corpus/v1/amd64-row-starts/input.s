# Functions of 256 bytes and of more than 64 KiB.
	.text
	.type f, @function
f:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.skip 254
	ret
	.cfi_endproc
	.size f, .-f
	.type g, @function
g:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.skip 65536
	ret
	.cfi_endproc
	.size g, .-g
