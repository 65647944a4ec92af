# DW_CFA_def_cfa_offset 16 and DW_CFA_offset rbp in one directive.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rbp
	.cfi_escape 0x0e, 16, 0x86, 2
	xorl	%ebp, %ebp
	popq	%rbp
	.cfi_escape 0x0e, 8, 0xc6
	ret
	.cfi_endproc
	.size	f, .-f
