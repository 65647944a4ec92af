# Slots of the frame named by the CFA's register: plain rows, which every version has.
	.text
	.type	f, @function
f:
	.cfi_startproc
	subq	$16, %rsp
	.cfi_def_cfa_offset 24
	movq	%rbp, (%rsp)
	.cfi_escape 0x10, 6, 2, 0x77, 0			# rbp: *(rsp + 0)
	.cfi_escape 0x10, 16, 2, 0x77, 16		# rip: *(rsp + 16)
	leaq	8(%rsp), %rbp
	.cfi_def_cfa 6, 16
	.cfi_escape 0x10, 6, 2, 0x76, 0x78		# rbp: *(rbp - 8)
	.cfi_escape 0x10, 16, 4, 0x76, 4, 0x34, 0x22	# rip: *(rbp + 4 + 4)
	.cfi_escape 0x14, 7, 0				# rsp: CFA + 0
	nop
	ret
	.cfi_endproc
	.size	f, .-f
