/* A thread whose stack has pages that this program would have to serve, those around the frame of caller(), and does not
   (userfaultfd(2)). Prints "ready". Status 1: the system has none for this user. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noipa))

static char* volatile frame_of_caller;

NOINLINE static void deep(void) {
  volatile char room[3 * 4096];
  room[0] = 1;
  for (;;) pause();
}

NOINLINE static void* caller(void* unused) {
  frame_of_caller = __builtin_frame_address(0);
  deep();
  return unused;
}

int main(void) {
  const size_t size = 1 << 20, page = 4096;
  pthread_attr_t attributes;
  pthread_t thread;
  const int served = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  struct uffdio_api api = {.api = UFFD_API};
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), size);
  pthread_create(&thread, &attributes, caller, 0);
  while (!frame_of_caller) usleep(1000);
  usleep(100000);
  char* const begin = (char*)((uintptr_t)frame_of_caller & -page) - page;
  struct uffdio_register pages = {.range = {(uintptr_t)begin, 2 * page}, .mode = UFFDIO_REGISTER_MODE_MISSING};
  if (served < 0 || ioctl(served, UFFDIO_API, &api) != 0 || ioctl(served, UFFDIO_REGISTER, &pages) != 0) return 1;
  madvise(begin, 2 * page, MADV_DONTNEED);
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}
