# What sigaction installs as the handler's return address.
	.text
	nop
	.type	restore_rt, @function
restore_rt:
	.cfi_startproc simple
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 6	# CFA = *(rsp + 160)
	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0	# rbp = *(rsp + 120)
	.cfi_escape 0x10, 3, 3, 0x77, 0x80, 1	# rbx = *(rsp + 128)
	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1	# rip = *(rsp + 168)
	movq	$15, %rax
	syscall
	.cfi_endproc
	.size	restore_rt, .-restore_rt
