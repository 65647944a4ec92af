# The second function of the file comes first in memory: the linker puts
# .text.unlikely before .text.  A third lies in a section of its own name.
	.text
	.type	warm, @function
warm:
	.cfi_startproc
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	warm, .-warm
	.section .text.unlikely, "ax", @progbits
	.type	cold, @function
cold:
	.cfi_startproc
	ud2
	.cfi_endproc
	.size	cold, .-cold
	.section stubs, "ax", @progbits
	.type	stub, @function
stub:
	.cfi_startproc
	pushq	%rdi
	.cfi_def_cfa_offset 16
	ret
	.cfi_endproc
	.size	stub, .-stub
