# rbp = *(rbp - 129): no multiple of 8 either, so no .cfi_offset can say it.
	.text
	.type	f, @function
f:
	.cfi_startproc
	movq	%rbp, -129(%rbp)
	.cfi_escape 0x10, 6, 3, 0x76, 0xff, 0x7e
	call	*%rdi
	ud2
	.cfi_endproc
	.size	f, .-f
