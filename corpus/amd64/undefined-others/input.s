# .cfi_undefined of rax and r11 together with a change that counts.
	.text
	.type	f, @function
f:
	.cfi_startproc
	.cfi_undefined 0
	pushq	%rdi
	.cfi_def_cfa_offset 16
	.cfi_undefined 11
	xorl	%r11d, %r11d
	popq	%rdi
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	f, .-f
