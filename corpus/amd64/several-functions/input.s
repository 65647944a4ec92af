# Three functions without a gap between them.
	.text
	.type	one, @function
one:
	.cfi_startproc
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	one, .-one
	.type	two, @function
two:
	.cfi_startproc
	ret
	.cfi_endproc
	.size	two, .-two
	.type	three, @function
three:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	popq	%rbp
	.cfi_def_cfa_offset 8
	.cfi_restore 6
	ret
	.cfi_endproc
	.size	three, .-three
