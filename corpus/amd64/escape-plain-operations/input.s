# DW_CFA_def_cfa, DW_CFA_undefined of rip, DW_CFA_offset_extended_sf of rbp.
	.text
	.type	base, @function
base:
	.cfi_startproc
	pushq	%rdi
	.cfi_escape 0x0c, 7, 16
	ud2
	.cfi_endproc
	.size	base, .-base
	.type	outermost, @function
outermost:
	.cfi_startproc
	.cfi_escape 0x07, 16
	hlt
	.cfi_endproc
	.size	outermost, .-outermost
	.type	saved, @function
saved:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_escape 0x11, 6, 2
	ud2
	.cfi_endproc
	.size	saved, .-saved
