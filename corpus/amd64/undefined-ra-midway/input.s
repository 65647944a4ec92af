# A coroutine's entry: once the stack is switched there is no caller.
	.text
	.type	f, @function
f:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rdi, %rsp
	.cfi_undefined 16
	call	*%rsi
	ud2
	.cfi_endproc
	.size	f, .-f
