# Flexible descriptors: a realigned stack as GCC writes it, and every place for a rule.
        .text
realigned_stack:
        .cfi_startproc
        lea 8(%rsp), %r10
        .cfi_def_cfa %r10, 0
        and $-32, %rsp
        push -8(%r10)
        push %rbp
        .cfi_escape 0x10, 6, 2, 0x76, 0                 # rbp = *(rbp + 0)
        mov %rsp, %rbp
        push %r10
        .cfi_escape 0x0f, 3, 0x76, 0x78, 6              # CFA = *(rbp - 8)
        pop %r10
        .cfi_def_cfa %r10, 0
        pop %rbp
        .cfi_restore %rbp
        lea -8(%r10), %rsp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
every_place:
        .cfi_startproc
        nop
        .cfi_register %rip, %rbx
        nop
        .cfi_offset %rip, -24
        .cfi_offset %rbp, -16
        nop
        .cfi_register %rbp, %rdi
        nop
        .cfi_def_cfa 40, 8
        nop
        .cfi_def_cfa %rsp, 70000
        nop
        .cfi_undefined %rip
        ret
        .cfi_endproc
