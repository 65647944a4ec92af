# Default descriptors: a frame pointer, CFA offsets of all three widths, a row at the end, a function of no bytes.
        .text
with_frame_pointer:
        .cfi_startproc
        push %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        mov %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pop %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
two_byte_rows:
        .cfi_startproc
        sub $4096, %rsp
        .cfi_def_cfa_offset 4104
        .skip 300, 0x90
        add $4096, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
four_byte_rows:
        .cfi_startproc
        sub $0x989680, %rsp
        .cfi_def_cfa_offset 10000008
        .skip 65536, 0x90
        add $0x989680, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
no_bytes:
        .cfi_startproc
        .cfi_endproc
row_at_end:
        .cfi_startproc
        ret
        .cfi_def_cfa_offset 16
        .cfi_endproc
