# An FDE by hand that reaches one byte past the end of .text.
	.text
	.type	f, @function
f:
	pushq	%rbx
	popq	%rbx
	ret
.Lend:
	.size	f, .-f
	.section .eh_frame, "a", @unwind
.Lcie:	.long	.Lcie_end - 0f
0:	.long	0
	.byte	1
	.asciz	"zR"
	.uleb128 1
	.sleb128 -8
	.byte	16
	.uleb128 1
	.byte	0x1b
	.byte	0x0c, 7, 8			# def_cfa rsp + 8
	.byte	0x90, 1				# rip at CFA - 8
	.balign	8
.Lcie_end:
	.long	.Lfde_end - 0f
0:	.long	0b - .Lcie
	.long	f - .
	.long	.Lend - f + 1
	.uleb128 0
	.byte	0x41, 0x0e, 16			# + 1: CFA rsp + 16
	.byte	0x41, 0x0e, 8			# + 2: CFA rsp + 8
	.balign	8
.Lfde_end:
	.long	0
