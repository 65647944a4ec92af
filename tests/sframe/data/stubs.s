# A lazy PLT (one plain descriptor, one repeated), an outermost frame, signal frames of both types and without rows.
        .text
outermost:
        .cfi_startproc
        .cfi_undefined %rip
        call one@plt
        call two@plt
        hlt
        .cfi_endproc
signal:
        .cfi_startproc
        .cfi_signal_frame
        .cfi_def_cfa %rsp, 160
        nop
        .cfi_endproc
signal_flexible:
        .cfi_startproc
        .cfi_signal_frame
        .cfi_def_cfa %r10, 160
        nop
        .cfi_endproc
signal_without_rows:
        .cfi_startproc
        .cfi_signal_frame
        .cfi_escape 0x16, 7, 1, 0x30                    # rsp = 0, which SFrame cannot represent
        nop
        .cfi_endproc
