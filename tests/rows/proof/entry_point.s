# Nothing has called a file's entry point: what is on its stack is no return address.

.include "undescribed.inc"

  .text
begin start__entry_point
  call start__proved
  xor %edi,%edi
  ret
end start__entry_point
begin start__proved
  call exits__proved
  xor %edi,%edi
  ret
end start__proved
# exit and exit_group do not return, and what follows them is another function.
begin exits__no_return
  mov $60,%eax
  syscall
end exits__no_return
begin exits__proved
  mov $39,%eax
  syscall
  ret
end exits__proved
begin exits_group__no_return
  mov $231,%eax
  syscall
end exits_group__no_return
begin exits_group__proved
  mov $39,%eax
  syscall
  ret
end exits_group__proved
