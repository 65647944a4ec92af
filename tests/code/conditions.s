# Functions that the proof must refuse, each with a twin that it must prove: by condition of code/conditions.
# NAME__REASON: it must be refused for that reason; NAME__proved: proved.

.macro begin name
  .globl "\name"
  .type "\name",@function
"\name":
  .cfi_startproc
.endm
.macro end name
  .cfi_endproc
  .size "\name", .-"\name"
  .p2align 4
.endm

  .text

# 1. A part that was split off is no function, unless it is called: a jump there with a frame flows into a function then.
begin split__proved
  push %rbx
  .cfi_def_cfa_offset 16
  test %edi,%edi
  jne split__proved.cold
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
end split__proved
  .local "split__proved.cold"
begin split__proved.cold
  .cfi_def_cfa_offset 16
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
end split__proved.cold
begin split__flows_into_function
  push %rbx
  .cfi_def_cfa_offset 16
  test %edi,%edi
  jne called_part
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
end split__flows_into_function
begin called_part
  pop %rax
  jmp *%rax
end called_part

# 2. Returns.
begin return__proved
return_start:
  push %rbx
  .cfi_def_cfa_offset 16
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
end return__proved
begin return__return_not_at_entry
  push %rbx
  ret
end return__return_not_at_entry
begin return_address__proved
  mov (%rsp),%rax
  ret
end return_address__proved
begin return_address__return_address_lost
  movq $0,(%rsp)
  ret
end return_address__return_address_lost
begin some_return__proved
1:test %edi,%edi
  je 1b
  ret
end some_return__proved
begin some_return__no_return
1:test %edi,%edi
  je 1b
  jmp 1b
end some_return__no_return
begin tail__proved
  jmp return__proved
end tail__proved
begin tail__tail_not_proved
  jmp return__return_not_at_entry
end tail__tail_not_proved

# 3. Joins.
begin join__proved
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp,-16
  mov %rsp,%rbp
  .cfi_def_cfa_register %rbp
  test %edi,%edi
  je 1f
  sub $16,%rsp
1:leave
  .cfi_def_cfa %rsp,8
  ret
end join__proved
begin join__conflicting_paths
  test %edi,%edi
  je 1f
  sub $16,%rsp
1:add $16,%rsp
  ret
end join__conflicting_paths

# 4. What calls keep.
begin kept__proved
  push %rbx
  .cfi_def_cfa_offset 16
  mov %rsp,%rbx
  .cfi_def_cfa_register %rbx
  call elsewhere@plt
  mov %rbx,%rsp
  pop %rbx
  .cfi_def_cfa %rsp,8
  ret
end kept__proved
begin kept__stack_pointer_lost
  push %rbx
  mov %rsp,%rax
  call elsewhere@plt
  mov %rax,%rsp
  pop %rbx
  ret
end kept__stack_pointer_lost

# 5. Callees.
begin callee__proved
  call return__proved
  ret
end callee__proved
begin callee__callee_unbalanced
  call pops__callee_pops
  ret
end callee__callee_unbalanced
begin pops__callee_pops
  ret $8
end pops__callee_pops
begin unbalanced_callee__callee_unbalanced
  call return__return_not_at_entry
  ret
end unbalanced_callee__callee_unbalanced

# One that takes its return address from the stack removes arguments with it, whatever else it is refused for.
begin removes_arguments__indirect_jump
  pop %rcx
  add $8,%rsp
  jmp *%rcx
end removes_arguments__indirect_jump
begin pushes_argument__callee_unbalanced
  push %rbp
  mov %rsp,%rbp
  push %rdi
  call removes_arguments__indirect_jump
  leave
  ret
end pushes_argument__callee_unbalanced
# What a pointer leads to may remove them as well. A return after leave does not prove that it has not.
begin pointer_pops__proved
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp,-16
  mov %rsp,%rbp
  push %rdi
  .cfi_def_cfa_offset 24
  call *%rdx
  mov %eax,%edx
  .cfi_def_cfa_offset 16
  inc %eax
  leave
  .cfi_def_cfa %rsp,8
  ret
end pointer_pops__proved
# CFI of a part that is called may count from the frame around it.
begin inner_part__proved
  push %rbx
  .cfi_def_cfa_offset 16
  call 1f
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
1:.cfi_def_cfa_offset 24
  inc %eax
  ret
end inner_part__proved

# 6. Overlapping instructions.
begin overlap__proved
  test %edi,%edi
  je 1f
1:.byte 0xb8,0x90,0x90,0x90,0xc3
  ret
end overlap__proved
begin overlap__overlapping_instructions
  test %edi,%edi
  je 1f+1
1:.byte 0xb8,0x90,0x90,0x90,0xc3
  ret
end overlap__overlapping_instructions
begin decodable__proved
  test %edi,%edi
  je 1f
  ret
  .byte 0x06
1:ret
end decodable__proved
begin decodable__undecodable
  test %edi,%edi
  je 1f
  ret
1:.byte 0x06
  ret
end decodable__undecodable

# 7. Jump tables.
begin table__proved
  push %rbx
  .cfi_def_cfa_offset 16
  cmp $1,%edi
  ja 1f
  mov %edi,%edi
  lea two_entries(%rip),%rdx
  movslq (%rdx,%rdi,4),%rax
  add %rdx,%rax
  jmp *%rax
0:inc %eax
1:pop %rbx
  .cfi_def_cfa_offset 8
  ret
end table__proved
  .section .rodata
  .p2align 2
two_entries:
  .long 0b-two_entries, 1b-two_entries
wild_entries:
  .long 0x70000000, 0x70000000
  .text
begin table__jump_table
  push %rbx
  cmp $1,%edi
  ja 1f
  mov %edi,%edi
  lea wild_entries(%rip),%rdx
  movslq (%rdx,%rdi,4),%rax
  add %rdx,%rax
  jmp *%rax
1:pop %rbx
  ret
end table__jump_table
# Entries that lead to another function are its tails, and those after them count as well.
begin tail_table__return_not_at_entry
  cmp $2,%edi
  ja 1f
  mov %edi,%edi
  lea tail_entries(%rip),%rdx
  movslq (%rdx,%rdi,4),%rax
  add %rdx,%rax
  jmp *%rax
1:ret
0:push %rbx
  ret
end tail_table__return_not_at_entry
  .section .rodata
tail_entries:
  .long 1b-tail_entries, return_start-tail_entries, 0b-tail_entries
  .text
begin slow_table__proved
  push %rbx
  .cfi_def_cfa_offset 16
  cmp $1,%edi
  ja 1f
  mov %edi,%eax
  lea 0(,%rax,4),%rdx
  lea slow_entries(%rip),%rax
  mov (%rdx,%rax,1),%eax
  cltq
  lea slow_entries(%rip),%rdx
  add %rdx,%rax
  jmp *%rax
0:inc %eax
1:pop %rbx
  .cfi_def_cfa_offset 8
  ret
end slow_table__proved
  .section .rodata
slow_entries:
  .long 0b-slow_entries, 1b-slow_entries
  .text
begin jump__proved
  jmp *%rdi
end jump__proved
begin jump__indirect_jump
  push %rbx
  jmp *%rdi
end jump__indirect_jump

# 8. Calls that do not return.
begin endless__proved
  test %edi,%edi
  jne 1f
  push %rax
  .cfi_def_cfa_offset 16
  call abort@plt
  test %eax,%eax
  jne 1f
1:.cfi_def_cfa_offset 8
  ret
end endless__proved
begin endless__conflicting_paths
  test %edi,%edi
  jne 1f
  push %rax
  .cfi_def_cfa_offset 16
  call elsewhere@plt
  test %eax,%eax
  jne 1f
1:.cfi_def_cfa_offset 8
  ret
end endless__conflicting_paths
begin endless_callee__proved
  test %edi,%edi
  jne 1f
  push %rax
  .cfi_def_cfa_offset 16
  call some_return__no_return
  test %eax,%eax
  jne 1f
1:.cfi_def_cfa_offset 8
  ret
end endless_callee__proved

# 9. Stores.
begin store__proved
  mov %rdi,-8(%rsp)
  mov %rdi,(%rsi)
  ret
end store__proved
begin store__return_address_lost
  mov %edi,4(%rsp)
  ret
end store__return_address_lost
begin wide_store__proved
  sub $24,%rsp
  .cfi_def_cfa_offset 32
  movups %xmm0,(%rsp)
  add $24,%rsp
  .cfi_def_cfa_offset 8
  ret
end wide_store__proved
begin wide_store__return_address_lost
  sub $24,%rsp
  movups %xmm0,12(%rsp)
  add $24,%rsp
  ret
end wide_store__return_address_lost
begin aligned_store__proved
  mov %rsp,%rax
  .cfi_def_cfa_register %rax
  sub $64,%rsp
  and $-32,%rsp
  movups %xmm0,40(%rsp)
  mov %rax,%rsp
  .cfi_def_cfa_register %rsp
  ret
end aligned_store__proved
begin aligned_store__return_address_lost
  mov %rsp,%rax
  sub $64,%rsp
  and $-32,%rsp
  movups %xmm0,56(%rsp)
  mov %rax,%rsp
  ret
end aligned_store__return_address_lost

# A stack address that was stored gets no benefit of the doubt: a store through another pointer, to the same place, ends it.
begin stored_address__proved
  sub $24,%rsp
  .cfi_def_cfa_offset 32
  lea 8(%rsp),%rcx
  mov %rsp,8(%rsp)
  mov %rdx,8(%rcx)
  mov 8(%rsp),%rsp
  add $24,%rsp
  .cfi_def_cfa_offset 8
  ret
end stored_address__proved
begin stored_address__other_stack
  sub $24,%rsp
  .cfi_def_cfa_offset 32
  lea 8(%rsp),%rcx
  mov %rsp,8(%rsp)
  mov %rdx,(%rcx)
  mov 8(%rsp),%rsp
  add $24,%rsp
  .cfi_def_cfa_offset 8
  ret
end stored_address__other_stack

# String instructions move the pointers that they imply.
begin string__proved
  mov %rsp,%rdi
  cld
  mov %rdi,%rsp
  ret
end string__proved
begin string__stack_pointer_lost
  mov %rsp,%rdi
  repz cmpsb
  mov %rdi,%rsp
  ret
end string__stack_pointer_lost

# 11. Other stacks.
begin switch__proved
  mov %rsp,%rax
  mov %rax,%rsp
  ret
end switch__proved
begin switch__other_stack
  mov (%rdi),%rsp
  ret
end switch__other_stack
begin abort__other_stack
  xabort $1
  push %rbx
  ret
end abort__other_stack
begin exchange__other_stack
  xchg %rsp,%rdi
  ret
end exchange__other_stack
begin enter__other_stack
  enter $16,$0
  leave
  ret
end enter__other_stack
begin saved__proved
  mov %rsp,%rax
  sub $40,%rsp
  .cfi_def_cfa_offset 48
  mov %rax,8(%rsp)
  mov 8(%rsp),%rsp
  .cfi_def_cfa_offset 8
  ret
end saved__proved
begin variable__proved
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp,-16
  mov %rsp,%rbp
  .cfi_def_cfa_register %rbp
  sub %rdi,%rsp
  leave
  .cfi_def_cfa %rsp,8
  ret
end variable__proved
begin variable__stack_pointer_lost
  sub %rdi,%rsp
  add %rdi,%rsp
  ret
end variable__stack_pointer_lost
begin probe__proved
  lea -0x4000(%rsp),%r11
1:sub $0x1000,%rsp
  orq $0,(%rsp)
  cmp %r11,%rsp
  jne 1b
  .cfi_def_cfa_offset 0x4008
  add $0x4000,%rsp
  .cfi_def_cfa_offset 8
  ret
end probe__proved

# Work is bounded by a function's size: its joins take a step for each 16 slots.
.macro many_joins count
  .rept 47
  push %rbx
  .endr
1:.rept \count
  je .+2
  .endr
  .set slot, 0
  .rept 46
  mov slot+8(%rsp),%rax
  mov %rax,slot(%rsp)
  .set slot, slot+8
  .endr
  movq $0,46*8(%rsp)
  jne 1b
  add $376,%rsp
  ret
.endm
begin joins__too_much_code
  .cfi_undefined %rip
  many_joins 4000
end joins__too_much_code
begin joins__proved
  .cfi_undefined %rip
  many_joins 40
end joins__proved

begin caller_of_part
  call called_part
  ret
end caller_of_part
