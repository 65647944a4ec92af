# Functions that the proof must refuse, each with a twin that it must prove: by condition of rows/proof/conditions.
# NAME__REASON: it must be refused for that reason; NAME__proved, its twin: proved.

.include "described.inc"

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

# An FDE that does not begin with the CFA of an entry is a part as well.
begin fde__proved
  push %rbx
  .cfi_def_cfa_offset 16
  test %edi,%edi
  jne fde_part
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
end fde__proved
  .cfi_startproc
  .cfi_def_cfa_offset 16
fde_part:
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .p2align 4
begin fde__flows_into_function
  push %rbx
  .cfi_def_cfa_offset 16
  test %edi,%edi
  jne fde_function
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
end fde__flows_into_function
  .cfi_startproc
fde_function:
  pop %rbx
  .cfi_def_cfa_offset 16
  ret
  .cfi_endproc
  .p2align 4

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
# A last jump to an imported function is a return, unless that does not return.
begin imported_tail__proved
  jmp elsewhere@plt
end imported_tail__proved
begin imported_tail__no_return
  jmp abort@plt
end imported_tail__no_return
# What jumps back into a function is a part of it, though its FDE begins as an entry does.
begin jumps_to_part
  test %edi,%edi
  jne part_that_jumps_back__flows_into_function
back:
  ret
end jumps_to_part
  .cfi_startproc
part_that_jumps_back__flows_into_function:
  inc %eax
  jmp back
  .cfi_endproc
  .p2align 4
  .cfi_startproc
part_that_jumps_back__proved:
  inc %eax
  jmp jumps_to_part
  .cfi_endproc
  .p2align 4

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
# SP is known again after a loop of probes, as that ends where a register says. Another loop loses it.
begin loop__proved
  lea -0x4000(%rsp),%r11
1:sub $0x1000,%rsp
  orq $0,(%rsp)
  cmp %r11,%rsp
  jne 1b
  .cfi_def_cfa_offset 0x4008
  add $0x4000,%rsp
  .cfi_def_cfa_offset 8
  ret
end loop__proved
begin loop__conflicting_paths
  mov $4,%ecx
  jmp 1f
1:sub $0x1000,%rsp
  orq $0,(%rsp)
  dec %ecx
  jne 1b
  add $0x4000,%rsp
  ret
end loop__conflicting_paths
.macro probes name:req, jump:req
begin \name
  lea -0x2000(%rsp),%r11
1:sub $0x1000,%rsp
  orq $0,(%rsp)
  cmp %r11,%rsp
  \jump 1b
  .cfi_def_cfa_offset 0x2008
  add $0x2000,%rsp
  .cfi_def_cfa_offset 8
  ret
end \name
.endm
  probes equal__proved, jne
  probes equal__return_not_at_entry, ja
# The call does not return: another path comes to the place after it with another stack pointer.
begin meets__proved
  test %edi,%edi
  je 1f
  push %rbx
  .cfi_def_cfa_offset 16
  call elsewhere@plt
  nop
1:.cfi_def_cfa_offset 8
  ret
end meets__proved
begin meets__conflicting_paths
  test %edi,%edi
  je 1f
  push %rbx
  .cfi_def_cfa_offset 16
  nop
1:.cfi_def_cfa_offset 8
  ret
end meets__conflicting_paths
begin fall__proved
  test %edi,%edi
  je 1f
  push %rbx
  .cfi_def_cfa_offset 16
  call elsewhere@plt
  nop
1:.cfi_def_cfa_offset 8
end fall__proved
begin fallen_to
  ret
end fallen_to
begin fall__flows_into_function
  push %rbx
  .cfi_def_cfa_offset 16
end fall__flows_into_function
begin fallen_to_with_a_frame
  ret
end fallen_to_with_a_frame

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
begin red_zone__proved
  sub $24,%rsp
  .cfi_def_cfa_offset 32
  mov %rsp,%rax
  mov %rax,8(%rsp)
  call elsewhere@plt
  mov 8(%rsp),%rsp
  add $24,%rsp
  .cfi_def_cfa_offset 8
  ret
end red_zone__proved
begin red_zone__other_stack
  sub $24,%rsp
  .cfi_def_cfa_offset 32
  mov %rsp,%rax
  mov %rax,-16(%rsp)
  call elsewhere@plt
  mov -16(%rsp),%rsp
  add $24,%rsp
  .cfi_def_cfa_offset 8
  ret
end red_zone__other_stack

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
begin pops__proved
  ret
end pops__proved
begin unbalanced_callee__proved
  call return_address__proved
  ret
end unbalanced_callee__proved
begin unbalanced_callee__callee_unbalanced
  call return__return_not_at_entry
  ret
end unbalanced_callee__callee_unbalanced
# A callee may be refused, as long as it does not pop its return address.
begin refused_callee__proved
  call jump__indirect_jump
  ret
end refused_callee__proved
begin refused_callee__callee_unbalanced
  call called_part
  ret
end refused_callee__callee_unbalanced

# One that takes its return address from the stack removes arguments with it, whatever else it is refused for.
begin removes_arguments__indirect_jump
  pop %rcx
  add $8,%rsp
  jmp *%rcx
end removes_arguments__indirect_jump
begin removes_arguments__proved
  pop %rcx
  .cfi_def_cfa_offset 0
  push %rcx
  .cfi_def_cfa_offset 8
  jmp *%rdx
end removes_arguments__proved
begin pushes_argument__callee_unbalanced
  push %rbp
  mov %rsp,%rbp
  push %rdi
  call removes_arguments__indirect_jump
  leave
  ret
end pushes_argument__callee_unbalanced
begin pushes_argument__proved
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp,-16
  mov %rsp,%rbp
  .cfi_def_cfa_register %rbp
  push %rdi
  call return__proved
  leave
  .cfi_def_cfa %rsp,8
  ret
end pushes_argument__proved

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
# The other way round: the instruction that is inside is read first, by another function.
begin jumps_into_inner
  jmp 1f+1
end jumps_into_inner
begin inner__overlapping_instructions
1:.byte 0xb8,0x90,0x90,0x90,0xc3
  ret
end inner__overlapping_instructions
begin inner__proved
  .byte 0xb8,0x90,0x90,0x90,0xc3
  ret
end inner__proved
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
.macro tail_table last:req
  cmp $2,%edi
  ja 1f
  mov %edi,%edi
  lea 2f(%rip),%rdx
  movslq (%rdx,%rdi,4),%rax
  add %rdx,%rax
  jmp *%rax
1:ret
0:push %rbx
  ret
  .section .rodata
2:.long 1b-2b, return_start-2b, \last-2b
  .text
.endm
begin tail_table__proved
  tail_table 1b
end tail_table__proved
begin tail_table__return_not_at_entry
  tail_table 0b
end tail_table__return_not_at_entry

# The third entry of a table leads to code that does not return at the entry: no path does, if there are two. CODE makes
# an index in rax and jumps to 1 where there is none.
.macro two_of_three name:req, code:vararg
begin \name
  push %rbx
  .cfi_def_cfa_offset 16
  mov %rdi,%rbx
  \code
  lea 4f(%rip),%rdx
  movslq (%rdx,%rax,4),%rax
  add %rdx,%rax
  jmp *%rax
2:inc %eax
1:pop %rbx
  .cfi_remember_state
  .cfi_def_cfa_offset 8
  ret
  .cfi_restore_state
3:push %rbx
  ret
  .section .rodata
  .p2align 2
4:.long 1b-4b, 2b-4b, 3b-4b
  .text
end \name
.endm
.macro compared_with number:req, jump:req
  cmp $\number,%edi
  \jump 1f
  mov %edi,%eax
.endm
  two_of_three above__proved, compared_with 1, ja
  two_of_three above__return_not_at_entry, compared_with 2, ja
  two_of_three not_below__proved, compared_with 2, jae
  two_of_three not_below__return_not_at_entry, compared_with 3, jae
.macro masked by:req
  mov %edi,%eax
  and $\by,%eax
.endm
  two_of_three mask__proved, masked 1
  two_of_three mask__return_not_at_entry, masked 2
.macro compared_before first, second
  \first
  cmp $1,%edi
  \second
  ja 1f
  mov %edi,%eax
.endm
  two_of_three same_register__proved, compared_before "mov %esi,%edi"
  two_of_three same_register__return_not_at_entry, compared_before , "mov %esi,%edi"
  two_of_three same_flags__proved, compared_before "test %esi,%esi"
  two_of_three same_flags__return_not_at_entry, compared_before , "test %esi,%esi"
.macro in_memory first, second
  \first
  cmpl $1,8(%rbx)
  ja 1f
  \second
  mov 8(%rbx),%eax
.endm
  two_of_three not_stored__proved, in_memory "mov %esi,8(%rbx)"
  two_of_three not_stored__return_not_at_entry, in_memory , "mov %esi,8(%rbx)"
  two_of_three not_called__proved, in_memory "call return_start"
  two_of_three not_called__return_not_at_entry, in_memory , "call return_start"
  two_of_three same_base__proved, in_memory "mov %rsi,%rbx"
  two_of_three same_base__return_not_at_entry, in_memory , "mov %rsi,%rbx"
.macro by_two_paths other:req
  mov %edi,%eax
  test %esi,%esi
  je 5f
  cmp $1,%eax
  ja 1f
  jmp 6f
5:cmp $\other,%eax
  ja 1f
6:
.endm
  two_of_three both_paths__proved, by_two_paths 1
  two_of_three both_paths__return_not_at_entry, by_two_paths 2
# GCC without optimization scales the index by itself.
.macro scaled number:req
  push %rbx
  .cfi_def_cfa_offset 16
  cmp $\number,%edi
  ja 1f
  mov %edi,%eax
  lea 0(,%rax,4),%rdx
  lea 2f(%rip),%rax
  mov (%rdx,%rax,1),%eax
  cltq
  lea 2f(%rip),%rdx
  add %rdx,%rax
  jmp *%rax
0:inc %eax
1:pop %rbx
  .cfi_remember_state
  .cfi_def_cfa_offset 8
  ret
  .cfi_restore_state
3:push %rbx
  ret
  .section .rodata
  .p2align 2
2:.long 0b-2b, 1b-2b, 3b-2b
  .text
.endm
begin scaled__proved
  scaled 1
end scaled__proved
begin scaled__return_not_at_entry
  scaled 2
end scaled__return_not_at_entry
begin jump__proved
  jmp *%rdi
end jump__proved
begin jump__indirect_jump
  push %rbx
  jmp *%rdi
end jump__indirect_jump

# 8. Calls that do not return.
begin endless__proved
  call elsewhere@plt
  ret
end endless__proved
begin endless__no_return
  call abort@plt
  ret
end endless__no_return
begin endless_callee__proved
  call some_return__proved
  ret
end endless_callee__proved
begin endless_callee__no_return
  call some_return__no_return
  ret
end endless_callee__no_return
# Where a path after a call disagrees with one without a call, the call does not return, whatever its callee does. Where no
# call is to blame, the function is refused.
.macro disagrees name, code:vararg
begin \name
  test %edi,%edi
  jne 1f
  push %rax
  .cfi_def_cfa_offset 16
  \code
  test %eax,%eax
  jne 1f
  nop
1:.cfi_def_cfa_offset 8
  ret
end \name
.endm
  disagrees disagrees__proved, call elsewhere@plt
  disagrees disagrees__conflicting_paths, mov %esi, %eax
# A call at the end of a function does not return: what follows is another function.
begin last_call__proved
  test %edi,%edi
  je 1f
  ret
1:push %rbx
  .cfi_def_cfa_offset 16
  call elsewhere@plt
  .cfi_endproc
  .size last_call__proved, .-last_call__proved
begin after_last_call
  ret
end after_last_call
begin last_call__flows_into_function
  test %edi,%edi
  je 1f
  ret
1:push %rbx
  .cfi_def_cfa_offset 16
  inc %eax
  .cfi_endproc
  .size last_call__flows_into_function, .-last_call__flows_into_function
begin after_no_call
  ret
end after_no_call

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
# A place that only seems to be that of the return address: compilers leave such paths, which nothing takes.
begin pointer_store__proved
  lea -8(%rsp),%rax
  movq $0,8(%rax)
  ret
end pointer_store__proved
begin pointer_store__return_address_lost
  movq $0,(%rsp)
  ret
end pointer_store__return_address_lost
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
  movq $0,8(%rcx)
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
  movq $0,(%rcx)
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
begin transaction__proved
  xtest
  ret
end transaction__proved
begin transaction__other_stack
  xbegin 1f
1:ret
end transaction__other_stack
begin abort__proved
  test %edi,%edi
  je 1f
  ud2
1:ret
end abort__proved
begin abort__other_stack
  xabort $1
  push %rbx
  ret
end abort__other_stack
begin exchange__proved
  xchg %rsi,%rdi
  ret
end exchange__proved
begin exchange__other_stack
  xchg %rsp,%rdi
  ret
end exchange__other_stack
begin enter__proved
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp,-16
  mov %rsp,%rbp
  .cfi_def_cfa_register %rbp
  sub $16,%rsp
  leave
  .cfi_def_cfa %rsp,8
  ret
end enter__proved
begin enter__other_stack
  enter $16,$0
  leave
  ret
end enter__other_stack
begin interrupt__proved
  test %edi,%edi
  je 1f
  int3
1:ret
end interrupt__proved
begin interrupt__other_stack
  int $0x80
  ret
end interrupt__other_stack
begin interrupt_return__proved
  test %edi,%edi
  je 1f
  ret
1:ret
end interrupt_return__proved
begin interrupt_return__other_stack
  test %edi,%edi
  je 1f
  iretq
1:ret
end interrupt_return__other_stack
begin far_return__proved
  repz ret
end far_return__proved
begin far_return__other_stack
  lretq
end far_return__other_stack
begin short_return__proved
  ret
end short_return__proved
begin short_return__other_stack
  retw
end short_return__other_stack
begin short_push__proved
  push %rax
  .cfi_def_cfa_offset 16
  pop %rax
  .cfi_def_cfa_offset 8
  ret
end short_push__proved
begin short_push__other_stack
  push %ax
  add $2,%rsp
  ret
end short_push__other_stack
begin short_pop__proved
  push %rax
  .cfi_def_cfa_offset 16
  pop %rcx
  .cfi_def_cfa_offset 8
  ret
end short_pop__proved
begin short_pop__other_stack
  sub $2,%rsp
  pop %ax
  ret
end short_pop__other_stack
begin short_address__proved
  mov %edi,-8(%rsp)
  ret
end short_address__proved
begin short_address__other_stack
  mov %edi,-8(%esp)
  ret
end short_address__other_stack
begin saved__other_stack
  sub $40,%rsp
  .cfi_def_cfa_offset 48
  mov 8(%rsp),%rsp
  ret
end saved__other_stack
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
