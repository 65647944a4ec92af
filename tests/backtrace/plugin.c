/* Comes and goes: each copy calls back through frames of its own. */
__attribute__((noinline)) int plugin_frame(int depth, void (*action)(void)) {
  volatile char bytes[64];
  bytes[depth] = 1;
  if (depth == 0)
    action();
  else
    plugin_frame(depth - 1, action);
  return bytes[depth] + depth;
}
