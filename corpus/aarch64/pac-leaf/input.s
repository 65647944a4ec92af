# The mangled bit on rows of one data word.
	.text
	.type	f, @function
f:
	.cfi_startproc
	paciasp
	.cfi_negate_ra_state
	add	w0, w0, w1
	autiasp
	.cfi_negate_ra_state
	ret
	.cfi_endproc
	.size	f, .-f
