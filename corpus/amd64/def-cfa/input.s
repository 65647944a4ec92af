# .cfi_def_cfa: register and offset in one operation.
	.text
	.type	f, @function
f:
	.cfi_startproc
	enter	$64, $0
	.cfi_def_cfa 6, 16
	.cfi_offset 6, -16
	call	*%rdi
	leave
	.cfi_def_cfa 7, 8
	.cfi_restore 6
	ret
	.cfi_endproc
	.size	f, .-f
