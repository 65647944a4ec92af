// What glibc's tests include last, without its time limit and forks.

int main(void) {
  return do_test();
}
