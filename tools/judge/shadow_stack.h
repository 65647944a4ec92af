/* What call instructions have stored on the stacks of a program, so that it is known who called the function that
   executes. Neither CFI nor rows have a part in it. Part of the Valgrind tool of row_judge.c, whose head says what its
   license is. */
#ifndef JUDGE_SHADOW_STACK_H
#define JUDGE_SHADOW_STACK_H

#include "pub_tool_basics.h"

/* A call that has not returned, as the call instruction left it. */
typedef struct {
  Addr cfa;            /* the stack pointer before the call */
  Addr return_address; /* which the call has stored at cfa - 8 */
  Addr frame_pointer;  /* rbp at the call */
} Call;

typedef struct {
  Call call;
  /* There is no such call: it ends what is known of a stack, or is the kernel's frame of a signal. */
  Bool is_border;
  /* The last call from here, whose return address has been taken from the stack otherwise than by a return: what
     executes may be that callee still, which may put the address back. Its CFA is 0 if there is none. */
  Call popped;
  Bool has_jumped; /* longjmp() or an exception has left that call */
} Entry;

/* The calls on one stack, from the outermost on. The first entry is a border that nothing drops. */
typedef struct {
  Entry* entries;
  UInt count, room;
  Addr top;           /* the highest stack pointer that was seen on it */
  Addr stack_pointer; /* when the thread left it */
} Stack;

/* A thread's: the stack that it is on, and those that it has left. */
typedef struct {
  Stack now;
  Stack* others;
  UInt other_count;
  Addr interrupted;       /* a signal is about to be delivered: the stack pointer before; else 0 */
  Bool is_on_other_stack; /* and its handler has a stack of its own */
} ShadowStack;

/* Forgets everything: a new thread. */
void forget_calls(ShadowStack* shadow);

/* A call instruction has stored its return address at `stack_pointer`. */
void follow_call(ShadowStack* shadow, Addr stack_pointer, Addr frame_pointer);
/* A return instruction has taken one: the stack pointer is the one after it. */
void follow_return(ShadowStack* shadow, Addr stack_pointer);
/* An indirect jump goes to `target`. */
void follow_jump(ShadowStack* shadow, Addr stack_pointer, Addr target);
/* The stack pointer is about to become one that is not computed from the one before. */
void follow_new_stack_pointer(ShadowStack* shadow, Addr before, Addr now);
/* A signal is about to be delivered; its handler is about to begin; it has returned. */
void follow_signal(ShadowStack* shadow, Addr stack_pointer, Bool is_on_other_stack);
void follow_handler(ShadowStack* shadow, Addr stack_pointer, Addr frame_pointer);
void follow_end_of_handler(ShadowStack* shadow, Addr stack_pointer);

void drop_left_calls(ShadowStack* shadow, Addr stack_pointer);

/* The call whose callee executes now; null if that is not known. */
static inline const Call* current_call(ShadowStack* shadow, Addr stack_pointer) {
  const Entry* entry = &shadow->now.entries[shadow->now.count - 1];
  if (entry->call.cfa <= stack_pointer || entry->popped.cfa != 0) {
    drop_left_calls(shadow, stack_pointer);
    entry = &shadow->now.entries[shadow->now.count - 1];
  }
  return entry->is_border || entry->popped.cfa != 0 ? NULL : &entry->call;
}

#endif
