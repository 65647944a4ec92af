/* Looks at itself from inside: what the loader mapped, what the linker initialized, and the bytes of its own .sframe.
 * Prints what must not change when the file is rewritten, and two lines that the test compares with the file. Builds
 * as a program, or with -DLIBRARY as what a library does for the program that calls look(). Options: HUGE_BSS, NO_TLS,
 * NO_IFUNC, NO_CPP where no C++ part is linked, and MANY for more functions than .sframe finds a gap for. */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PT_GNU_SFRAME 0x6474e554
#ifdef HUGE_BSS
#define SPACE (UINT64_C(1) << 30)
#else
#define SPACE (UINT64_C(1) << 20)
#endif

static char space[SPACE];
static int data[300] = {1, 2, 3, [299] = 4};
static const char* const strings[] = {"relocated", "pointers"};
#ifndef NO_TLS
static __thread int tls_data[20] = {42, [19] = 43};
static __thread int tls_space[100];
#endif
static int constructed;
__attribute__((constructor)) static void construct(void) { constructed = 7; }

#ifndef NO_IFUNC
static int implementation(void) { return 5; }
static int (*resolve(void))(void) { return implementation; }
int chosen(void) __attribute__((ifunc("resolve")));
#endif
#ifndef NO_CPP
int exceptions_work(void);
#endif

#ifdef MANY
/* 1000 functions with a frame, some 30 KB of .sframe. */
#define ONE(n) \
  __attribute__((noinline)) int many##n(int i) { return i < 0 ? many##n(i + 2) + 1 : data[i % 3]; }
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
HUNDRED(0) HUNDRED(1) HUNDRED(2) HUNDRED(3) HUNDRED(4) HUNDRED(5) HUNDRED(6) HUNDRED(7) HUNDRED(8) HUNDRED(9)
#endif

/* Any function of this file, for the object that it lies in. */
static uint64_t here(void) { return (uint64_t)(uintptr_t)&construct; }

static uint64_t hash(const void* bytes, uint64_t size) {
  uint64_t value = UINT64_C(0xcbf29ce484222325);
  for (uint64_t i = 0; i < size; ++i) value = (value ^ ((const unsigned char*)bytes)[i]) * UINT64_C(0x100000001b3);
  return value;
}

struct Found {
  struct dl_phdr_info info;
  int count;
};

static int visit(struct dl_phdr_info* info, size_t size, void* found_pointer) {
  struct Found* found = found_pointer;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || here() - (info->dlpi_addr + p->p_vaddr) >= p->p_memsz) continue;
    found->info = *info;
    ++found->count;
  }
  return 0;
}

static void show_section(const struct dl_phdr_info* info) {
  int count = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* p = &info->dlpi_phdr[i];
    if (p->p_type != PT_GNU_SFRAME) continue;
    ++count;
    printf("sframe %llu %016llx\n", (unsigned long long)p->p_memsz,
           (unsigned long long)hash((const void*)(uintptr_t)(info->dlpi_addr + p->p_vaddr), p->p_memsz));
  }
  if (count == 0) puts("sframe none");
  printf("table %d %016llx\n", info->dlpi_phnum,
         (unsigned long long)hash(info->dlpi_phdr, (uint64_t)info->dlpi_phnum * sizeof(ElfW(Phdr))));
}

#ifndef LIBRARY
extern const ElfW(Ehdr) __ehdr_start __attribute__((weak, visibility("hidden")));

/* What the kernel and the loader say of the table; and the header in memory, by which static programs find it with glibc
 * 2.36 as first released. patchelf leaves that out of date in others, which does no harm. */
static int table_is_found(const struct dl_phdr_info* info) {
  const uintptr_t table = getauxval(AT_PHDR);
  const ElfW(Ehdr)* volatile header = &__ehdr_start;
  if (table != (uintptr_t)info->dlpi_phdr) return puts("AT_PHDR is not what dl_iterate_phdr says"), 0;
  if (getauxval(AT_PHNUM) != info->dlpi_phnum) return puts("AT_PHNUM is not what dl_iterate_phdr says"), 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_PHDR && info->dlpi_addr + info->dlpi_phdr[i].p_vaddr != table)
      return puts("PT_PHDR is not AT_PHDR"), 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_INTERP) return 1;
  if (header == NULL) return 1;
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return puts("no ELF header at __ehdr_start"), 0;
  if ((uintptr_t)header + header->e_phoff != table) return puts("__ehdr_start does not lead to the table"), 0;
  return header->e_phnum == info->dlpi_phnum ? 1 : (puts("__ehdr_start has another count"), 0);
}

/* The heap must grow, and not into a segment. */
static int heap_grows(const struct dl_phdr_info* info) {
  const uintptr_t begin = (uintptr_t)syscall(SYS_brk, 0);
  const uintptr_t end = begin + (1 << 20);
  if ((uintptr_t)syscall(SYS_brk, end) != end) return puts("brk does not grow"), 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* p = &info->dlpi_phdr[i];
    const uintptr_t at = info->dlpi_addr + p->p_vaddr;
    if (p->p_type == PT_LOAD && at < end && begin < at + p->p_memsz) return puts("the heap overlaps a PT_LOAD"), 0;
  }
  memset((void*)begin, 1, end - begin);
  return 1;
}
#endif

/* To read a page for the first time costs up to 20 microseconds, and a gigabyte has 262,144 pages: 5 s of each run. The list of
 * mappings shows the same for less: what a segment has brought into .bss has a file there. The pages at each end are left to
 * the bytes, as .bss shares them with its neighbors. */
#ifdef HUGE_BSS
#define STEP (1 << 20)
static int only_memory_is_mapped(void) {
  const uintptr_t begin = (uintptr_t)space + (1 << 16), end = (uintptr_t)space + SPACE - (1 << 16);
  unsigned long from, to, inode;
  char line[4096];
  uintptr_t covered = begin;
  FILE* maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) return 0;
  while (fgets(line, sizeof line, maps) != NULL) {
    if (sscanf(line, "%lx-%lx %*s %*x %*s %lu", &from, &to, &inode) != 3 || to <= begin || from >= end) continue;
    if (inode != 0 || from > covered) break;
    covered = to;
  }
  fclose(maps);
  return covered >= end;
}
#else
#define STEP 4096
static int only_memory_is_mapped(void) { return 1; }
#endif

static int data_is_right(void) {
  if (data[0] + data[1] + data[2] + data[150] + data[299] != 10) return puts(".data"), 0;
  if (strcmp(strings[constructed == 7], "pointers") != 0) return puts("relocated pointers or constructors"), 0;
  for (uint64_t i = 0; i < SPACE; i += i + STEP < SPACE && i > (1 << 20) ? STEP : 1)
    if (space[i] != 0) return puts(".bss"), 0;
  if (!only_memory_is_mapped()) return puts("something lies in .bss"), 0;
  memset(space, 1, 1 << 20);
  space[SPACE - 1] = 1;
#ifndef NO_IFUNC
  if (chosen() != 5) return puts("ifunc"), 0;
#endif
  return 1;
}

static void* in_thread(void* result) {
#ifndef NO_TLS
  tls_space[5] += tls_data[0];
  *(int*)result = tls_data[0] == 42 && tls_data[19] == 43 && tls_space[5] == 42 && tls_space[6] == 0;
#else
  *(int*)result = 1;
#endif
  return NULL;
}

static int threads_work(void) {
  pthread_t thread;
  int first = 0, second = 0;
  if (pthread_create(&thread, NULL, in_thread, &first) != 0 || pthread_join(thread, NULL) != 0) return 0;
  in_thread(&second);
  for (int i = 0; i < 100; ++i) {
    char* more = malloc(10000);
    memset(more, 1, 10000);
    if (i % 2 != 0) free(more);
  }
  return first && second ? 1 : (puts("thread-local data"), 0);
}

/* 0 when all is as it should be. */
int look(void) {
  struct Found found = {.count = 0};
  dl_iterate_phdr(visit, &found);
  if (found.count != 1) return printf("found %d times by dl_iterate_phdr\n", found.count), 1;
  show_section(&found.info);
#ifndef LIBRARY
  if (!table_is_found(&found.info)) return 2;
  if (!heap_grows(&found.info)) return 3;
#endif
  if (!data_is_right()) return 4;
  if (!threads_work()) return 5;
#ifndef NO_CPP
  if (!exceptions_work()) return puts("exceptions"), 6;
#endif
  puts("all is well");
  return 0;
}

#ifndef LIBRARY
int main(void) { return look(); }
#endif
