/* crti.o and crtn.o of glibc where code is compiled to be landed on (-fcf-protection) or to sign return addresses
   (-mbranch-protection): Debian 12 has none. */
#ifdef __aarch64__
  .weak __gmon_start__
  .text
call_weak:
  b __gmon_start__
#define BEGIN paciasp; stp x29, x30, [sp, #-16]!; mov x29, sp
#define GMON bl call_weak
#define END ldp x29, x30, [sp], #16; autiasp; ret
#else
  .weak __gmon_start__
#define BEGIN endbr64; sub $8, %rsp
#define GMON mov __gmon_start__@GOTPCREL(%rip), %rax; test %rax, %rax; je 1f; call *%rax; 1:
#define END add $8, %rsp; ret
#endif
  .section .init, "ax", %progbits
  .globl _init
_init:
  BEGIN
  GMON
  END
  .section .fini, "ax", %progbits
  .globl _fini
_fini:
  BEGIN
  END
