# Three functions; only the last can be said.
	.text
	.type f, @function
f:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa 7, 160
	movq	$15, %rax
	syscall
	.cfi_endproc
	.size f, .-f
	.type g, @function
g:
	.cfi_startproc
	.cfi_undefined 16
	xorl	%ebp, %ebp
	call	*%rdi
	ud2
	.cfi_endproc
	.size g, .-g
	.type h, @function
h:
	.cfi_startproc
	ret
	.cfi_endproc
	.size h, .-h
