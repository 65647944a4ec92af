# A cold part: operations at its first address that are not in the CIE (the escape
# keeps them out of it), so .cfi_restore must go back behind the first row.
	.text
	.type	f.cold, @function
f.cold:
	.cfi_startproc
	.cfi_escape 0x2e, 0			# DW_CFA_GNU_args_size: 0
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	call	*%rdi
	popq	%rbp
	.cfi_restore 6
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	f.cold, .-f.cold
