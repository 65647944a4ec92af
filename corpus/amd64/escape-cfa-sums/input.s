# rsp + 16 in four spellings.
	.text
	.type	plain, @function
plain:
	.cfi_startproc
	pushq	%rdi
	.cfi_escape 0x0f, 2, 0x77, 16			# breg7 16
	ud2
	.cfi_endproc
	.size	plain, .-plain
	.type	uconst, @function
uconst:
	.cfi_startproc
	pushq	%rdi
	.cfi_escape 0x0f, 4, 0x77, 0, 0x23, 16		# breg7 0; plus_uconst 16
	ud2
	.cfi_endproc
	.size	uconst, .-uconst
	.type	const1u, @function
const1u:
	.cfi_startproc
	pushq	%rdi
	.cfi_escape 0x0f, 5, 0x77, 0, 0x08, 16, 0x22	# breg7 0; const1u 16; plus
	ud2
	.cfi_endproc
	.size	const1u, .-const1u
	.type	literal, @function
literal:
	.cfi_startproc
	pushq	%rdi
	.cfi_escape 0x0f, 4, 0x77, 8, 0x38, 0x22	# breg7 8; lit8; plus
	ud2
	.cfi_endproc
	.size	literal, .-literal
