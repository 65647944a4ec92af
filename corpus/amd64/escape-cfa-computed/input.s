# rsp + 8 + ((rip & 15) >= 11) * 8: no PCMASK descriptor fits the start, so each stretch gets its row.
	.text
	.type	f, @function
f:
	.cfi_startproc
	subq	$8, %rsp
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
	nop
	ret
	.cfi_endproc
	.size	f, .-f
