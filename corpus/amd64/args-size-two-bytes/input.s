# 256 bytes of arguments: the operand is a LEB128 number of two bytes.
	.text
	.type	f, @function
f:
	.cfi_startproc
	enter	$256, $0
	.cfi_def_cfa 6, 16
	.cfi_offset 6, -16
	.cfi_escape 0x2e, 0x80, 2		# DW_CFA_GNU_args_size: 256
	call	*%rdx
	ud2
	.cfi_endproc
	.size	f, .-f
