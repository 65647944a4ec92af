# .eh_frame describes f; an FDE of .debug_frame, by hand, f's last byte and g.
	.cfi_sections .eh_frame
	.text
	.type	f, @function
f:
	.cfi_startproc
	nop
	ret
	.cfi_endproc
	.size	f, .-f
	.type	g, @function
g:
	pushq	%rbx
	popq	%rbx
	ret
.Lend:
	.size	g, .-g
	.section .debug_frame, "", @progbits
.Lcie:	.long	.Lcie_end - 0f
0:	.long	-1
	.byte	1
	.asciz	""
	.uleb128 1
	.sleb128 -8
	.byte	16
	.byte	0x0c, 7, 8			# def_cfa rsp + 8
	.byte	0x90, 1				# rip at CFA - 8
	.balign	8
.Lcie_end:
	.long	.Lfde_end - 0f
0:	.long	.Lcie
	.quad	g - 1
	.quad	.Lend - g + 1
	.byte	0x0e, 24			# CFA rsp + 24: not what .eh_frame says of f's last byte
	.byte	0x41, 0x0e, 8			# + 1
	.byte	0x41, 0x0e, 16			# + 2
	.byte	0x41, 0x0e, 8			# + 3
	.balign	8
.Lfde_end:
