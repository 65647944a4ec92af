# The outermost frame: nothing to return to.
	.text
	.type	start, @function
start:
	.cfi_startproc
	.cfi_undefined 16
	xorl	%ebp, %ebp
	movq	%rsp, %rdi
	call	*%rax
	hlt
	.cfi_endproc
	.size	start, .-start
