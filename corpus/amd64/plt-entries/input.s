# Three entries of a lazy PLT, each with its push, under GNU ld's rsp + 8 + ((rip & 15) >= 11) * 8: the start is a multiple
# of 16, so one descriptor repeats its two rows.
	.text
	.p2align 4
	.type	entries, @function
entries:
	.cfi_startproc
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
	.irpc number, 012
	jmp	*0x1000(%rip)
	pushq	$\number + 0x100
	jmp	.
	.p2align 4, 0x90
	.endr
	.cfi_endproc
	.size	entries, .-entries
