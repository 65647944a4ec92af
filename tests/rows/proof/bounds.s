# 7. Functions without CFI whose jump tables have a bound (NAME__proved), and twins with none: a comparison bounds the bits that
# it compares, and memory until something is stored. All tables could be read by their contents, if that were not forbidden.

.macro bounded name:req, load, compare:req, between, index
  .globl "\name"
  .type "\name",@function
"\name":
  push %rbx
  lea .Lentries_\name(%rip),%rdx
  \load
  \compare
  \between
  ja .Lend_\name
  \index
  movslq (%rdx,%rax,4),%rax
  add %rdx,%rax
  jmp *%rax
.Lcase_\name:
  inc %eax
.Lend_\name:
  pop %rbx
  ret
  .size "\name", .-"\name"
  .p2align 4
  .section .rodata
  .p2align 2
.Lentries_\name:
  .long .Lcase_\name-.Lentries_\name, .Lend_\name-.Lentries_\name, 0x70000000
  .text
.endm

  .text
  bounded part__proved, compare="cmp $1,%dil", index="movzbl %dil,%eax"
  bounded part__jump_table, compare="cmp $1,%dil", index="mov %edi,%eax"
  bounded whole__proved, load="movzbl (%rdi),%eax", compare="cmp $1,%al"
  bounded whole__jump_table, load="mov (%rdi),%rax", compare="cmp $1,%al"
  bounded low_byte__proved, load="mov (%rdi),%rax", compare="cmp $1,%al", index="movzbl %al,%eax"
  bounded low_byte__jump_table, load="mov (%rdi),%rax", compare="cmp $1,%ah", index="movzbl %al,%eax"
  bounded byte_of_memory__proved, compare="cmpb $1,(%rdi)", index="movzbl (%rdi),%eax"
  bounded byte_of_memory__jump_table, compare="cmpb $1,(%rdi)", index="mov (%rdi),%eax"
  bounded memory__proved, compare="cmpl $1,(%rdi)", index="mov (%rdi),%eax"
  bounded memory__jump_table, compare="cmpl $1,(%rdi)", between="mov %ecx,(%rsi)", index="mov (%rdi),%eax"
  bounded sign__proved, compare="cmp $1,%dil", index="movzbl %dil,%eax"
  bounded sign__jump_table, compare="cmp $200,%dil", index="movsbl %dil,%eax"
  bounded entries__proved, compare="cmp $1,%edi", index="mov %edi,%eax"
  bounded entries__jump_table, compare="cmp $2,%edi", index="mov %edi,%eax"
