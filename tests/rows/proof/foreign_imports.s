# The same of a file that has a function of another convention, as GHC's shared libraries have: their code keeps return
# addresses elsewhere, and jumps to functions of other files. So a call is no evidence either.

.include "undescribed.inc"

  .text
begin changes_frame_pointer__frame_pointer_lost
  add $-16,%rbp
  ret
end changes_frame_pointer__frame_pointer_lost
begin changes_frame_pointer__proved
  add $-16,%rax
  ret
end changes_frame_pointer__proved
begin calls_them
  sub $8,%rsp
  call imported_tail__tail_not_proved
  call imported_tail__proved
  add $8,%rsp
  ret
end calls_them
imported_tail__tail_not_proved:
  mov %r14,%rbx
  jmp elsewhere@plt
  .p2align 4
imported_tail__proved:
  mov %rdi,%rax
  jmp changes_frame_pointer__proved
  .p2align 4
