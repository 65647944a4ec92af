# DW_CFA_restore_state with nothing to restore costs its own FDE.
	.text
	.type	f, @function
f:
	.cfi_startproc
	nop
	.cfi_escape 0x0b
	ret
	.cfi_endproc
	.size	f, .-f
	.type	g, @function
g:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	g, .-g
