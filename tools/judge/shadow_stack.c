/* Part of the Valgrind tool of row_judge.c, whose head says what its license is. */
#include "shadow_stack.h"

#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_mallocfree.h"

/* Stacks that a thread has left, of which it may come back to any. The oldest is forgotten. */
#define MOST_OTHERS 64

static const Call no_call = {0, 0, 0};

static void push(Stack* stack, Call call, Bool is_border) {
  if (stack->count == stack->room) {
    stack->room = stack->room == 0 ? 64 : 2 * stack->room;
    stack->entries = VG_(realloc)("judge.stack", stack->entries, stack->room * sizeof(Entry));
  }
  Entry entry = {call, is_border, no_call, False};
  stack->entries[stack->count++] = entry;
}

static void begin_stack(Stack* stack, Addr stack_pointer) {
  const Call border = {~(Addr)0, 0, 0};
  stack->count = 0;
  push(stack, border, True);
  stack->top = stack_pointer;
  stack->stack_pointer = 0;
}

static Entry* last_of(Stack* stack) {
  return &stack->entries[stack->count - 1];
}

static void forget_other(ShadowStack* shadow, UInt index) {
  if (shadow->others[index].entries != NULL) VG_(free)(shadow->others[index].entries);
  --shadow->other_count;
  for (UInt i = index; i < shadow->other_count; ++i) shadow->others[i] = shadow->others[i + 1];
}

void forget_calls(ShadowStack* shadow) {
  if (shadow->others == NULL) shadow->others = VG_(calloc)("judge.stacks", MOST_OTHERS + 1, sizeof(Stack));
  while (shadow->other_count != 0) forget_other(shadow, 0);
  shadow->interrupted = 0;
  begin_stack(&shadow->now, 0);
}

/* Drops the calls whose return address is no longer on the stack. Returns whether there was one, and the last. */
static Bool drop(Stack* stack, Addr stack_pointer, Call* last) {
  Bool has_dropped = False;
  while (last_of(stack)->call.cfa <= stack_pointer) {
    if (!last_of(stack)->is_border) {
      *last = last_of(stack)->call;
      has_dropped = True;
    }
    --stack->count;
  }
  return has_dropped;
}

void drop_left_calls(ShadowStack* shadow, Addr stack_pointer) {
  Stack* const stack = &shadow->now;
  Call dropped;
  if (drop(stack, stack_pointer, &dropped)) {
    last_of(stack)->popped = dropped;
    last_of(stack)->has_jumped = False;
    return;
  }
  Entry* const entry = last_of(stack);
  const Call popped = entry->popped;
  if (popped.cfa == 0 || stack_pointer != popped.cfa - 8 || *(Addr*)stack_pointer != popped.return_address) return;
  entry->popped = no_call; /* it is back on the stack, as caml_c_call puts it, which only looks at it */
  push(stack, popped, False);
}

void follow_call(ShadowStack* shadow, Addr stack_pointer, Addr frame_pointer) {
  const Call call = {stack_pointer + 8, *(Addr*)stack_pointer, frame_pointer};
  drop_left_calls(shadow, call.cfa);
  if (shadow->now.top < call.cfa) shadow->now.top = call.cfa;
  push(&shadow->now, call, False);
}

void follow_return(ShadowStack* shadow, Addr stack_pointer) {
  Call dropped;
  drop(&shadow->now, stack_pointer, &dropped);
  last_of(&shadow->now)->popped = no_call;
}

void follow_jump(ShadowStack* shadow, Addr stack_pointer, Addr target) {
  drop_left_calls(shadow, stack_pointer);
  Entry* const entry = last_of(&shadow->now);
  if (entry->has_jumped || entry->popped.return_address == target) entry->popped = no_call;
}

/* The thread goes on where it has left another stack, or begins a new one. */
static void change_stack(ShadowStack* shadow, Addr before, Addr now) {
  Stack left = shadow->now;
  left.stack_pointer = before;
  if (left.top < before) left.top = before;
  shadow->now.entries = NULL;
  shadow->now.count = shadow->now.room = 0;
  begin_stack(&shadow->now, now);
  for (UInt i = 0; i < shadow->other_count; ++i) {
    if (now < shadow->others[i].stack_pointer || now > shadow->others[i].top) continue;
    VG_(free)(shadow->now.entries);
    shadow->now = shadow->others[i];
    shadow->others[i].entries = NULL;
    forget_other(shadow, i);
    break;
  }
  if (shadow->other_count == MOST_OTHERS) forget_other(shadow, 0);
  shadow->others[shadow->other_count++] = left;
}

void follow_new_stack_pointer(ShadowStack* shadow, Addr before, Addr now) {
  Stack* const stack = &shadow->now;
  if (stack->top < before) stack->top = before;
  if (now < before || now > stack->top) {
    change_stack(shadow, before, now);
    if (last_of(stack)->call.cfa > now) return;
  }
  Call dropped;
  if (!drop(stack, now, &dropped)) return; /* the end of a frame, whose return address is there still */
  last_of(stack)->popped = dropped;
  last_of(stack)->has_jumped = True;
}

void follow_signal(ShadowStack* shadow, Addr stack_pointer, Bool is_on_other_stack) {
  shadow->interrupted = stack_pointer;
  shadow->is_on_other_stack = is_on_other_stack;
}

void follow_handler(ShadowStack* shadow, Addr stack_pointer, Addr frame_pointer) {
  const Call handler = {stack_pointer + 8, *(Addr*)stack_pointer, frame_pointer};
  const Call kernel = {shadow->interrupted, 0, 0};
  shadow->interrupted = 0;
  if (shadow->is_on_other_stack) {
    Call unused;
    change_stack(shadow, kernel.cfa, handler.cfa);
    drop(&shadow->now, handler.cfa, &unused); /* of handlers that have left it by longjmp() */
  } else {
    /* Between them is the kernel's frame, which the code that ends the handler has for its own. */
    push(&shadow->now, kernel, True);
  }
  push(&shadow->now, handler, False);
}

void follow_end_of_handler(ShadowStack* shadow, Addr stack_pointer) {
  Call unused;
  const Stack* const stack = &shadow->now;
  const Bool is_here =
      stack->count > 1 && stack_pointer >= last_of(&shadow->now)->call.cfa && stack_pointer <= stack->top;
  if (!is_here) change_stack(shadow, stack->top, stack_pointer);
  drop(&shadow->now, stack_pointer, &unused);
}
