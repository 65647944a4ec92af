# How musl's programs begin, without CFI: by jumps without a frame, and a function that does not return.

.include "undescribed.inc"

  .text
begin begin__entry_point
  xor %ebp,%ebp
  mov %rsp,%rdi
  and $-16,%rsp
  call begin__proved
end begin__entry_point
begin begin__proved
  lea 8(%rdi),%rdx
  jmp goes_on__proved
end begin__proved

# The address of the next function is hidden from the compiler.
begin goes_on__proved
  push %rbp
  mov %rdx,%rbp
  call returns_maybe__proved
  mov %rbp,%rdi
  lea main_is_called__proved(%rip),%rax
  pop %rbp
  jmp *%rax
end goes_on__proved
begin goes_on__tail_not_proved
  push %rbp
  mov %rdx,%rbp
  call returns_maybe__proved
  mov %rbp,%rdi
  lea main_is_called__no_return(%rip),%rax
  pop %rbp
  jmp *%rax
end goes_on__tail_not_proved

# With a frame, or inside of the function, such a jump stays in it.
begin jumps_with_frame__proved
  push %rbx
  lea with_frame(%rip),%rax
  jmp *%rax
end jumps_with_frame__proved
with_frame:
  pop %rbx
  ret
  .p2align 4
begin jumps_with_frame__return_not_at_entry
  push %rbx
  lea without_frame(%rip),%rax
  jmp *%rax
end jumps_with_frame__return_not_at_entry
without_frame:
  ret
  .p2align 4
begin jumps_inside__proved
  lea inside(%rip),%rax
  jmp *%rax
inside:
  push %rbx
  pop %rbx
  ret
end jumps_inside__proved
begin jumps_inside__return_not_at_entry
  lea other_inside(%rip),%rax
  jmp *%rax
other_inside:
  push %rbx
  ret
end jumps_inside__return_not_at_entry

# What follows the first call takes this function's own values, so that it is not another one's.
begin main_is_called__proved
  push %rbp
  movslq %esi,%rbp
  push %rbx
  mov %rdi,%rbx
  sub $8,%rsp
  call returns_maybe__proved
  mov %ebp,%edi
main_call:
  call *%rbx
  mov %eax,%edi
  call exits__proved
end main_is_called__proved
begin main_is_called__no_return
  push %rbp
  movslq %esi,%rbp
  push %rbx
  mov %rdi,%rbx
  sub $8,%rsp
  call returns_maybe__proved
  mov %ebp,%edi
  call *%rbx
  mov %eax,%edi
  call exits__no_return
end main_is_called__no_return

# It may be known not to return.
begin returns_maybe__proved
  sub $8,%rsp
  call *%rax
  add $8,%rsp
  ret
end returns_maybe__proved
begin returns_maybe__no_return
  mov $60,%eax
  syscall
end returns_maybe__no_return

# A proved function calls one of them.
begin exits__no_return
  mov $60,%eax
  syscall
end exits__no_return
begin exits__proved
  mov $60,%eax
  syscall
end exits__proved
