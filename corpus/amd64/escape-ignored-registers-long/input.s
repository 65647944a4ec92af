# Harmless: a longer block, a value expression, an operand of two bytes.
	.text
	.type	block, @function
block:
	.cfi_startproc
	nop
	.cfi_escape 0x10, 3, 3, 0x77, 0xa0, 1	# rbx = *(rsp + 160)
	ret
	.cfi_endproc
	.size	block, .-block
	.type	value, @function
value:
	.cfi_startproc
	nop
	.cfi_escape 0x16, 3, 2, 0x77, 8		# rbx = rsp + 8
	ret
	.cfi_endproc
	.size	value, .-value
	.type	wide, @function
wide:
	.cfi_startproc
	nop
	.cfi_escape 0x14, 12, 0x80, 1		# r12 = CFA - 1024
	ret
	.cfi_endproc
	.size	wide, .-wide
