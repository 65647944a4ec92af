#pragma once

#include <string>

namespace sframe_gen::elf::test {

/// `look(size)` returns 0 when the memory of the program it is linked into is as it should be, and prints what is wrong
/// otherwise: data, .bss, TLS, constructors, an IFUNC, an exception, the heap, a thread, and `size` bytes of `payload`
/// where its PT_GNU_SFRAME points (0: there is none).
inline constexpr const char* probe_body = R"(
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <stdexcept>
#include <thread>

static thread_local int initialized_tls = 42;
static thread_local int zero_tls[100];
static char big_space[1 << 20];
static int constructed;
__attribute__((constructor)) static void construct() { constructed = 7; }
static int implementation() { return 5; }
extern "C" {
int (*resolve())() { return implementation; }
int chosen() __attribute__((ifunc("resolve")));
}

struct Search { unsigned long here; unsigned long size; int found; int wrong; };

static int visit(struct dl_phdr_info* info, size_t, void* data) {
  Search* search = static_cast<Search*>(data);
  bool mine = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& p = info->dlpi_phdr[i];
    mine |= p.p_type == PT_LOAD && search->here - (info->dlpi_addr + p.p_vaddr) < p.p_memsz;
  }
  for (int i = 0; mine && i < info->dlpi_phnum; ++i) {
    const auto& p = info->dlpi_phdr[i];
    if (p.p_type != 0x6474e554) continue;
    ++search->found;
    const unsigned char* bytes = reinterpret_cast<const unsigned char*>(info->dlpi_addr + p.p_vaddr);
    search->wrong |= p.p_memsz != search->size || p.p_filesz != search->size;
    for (unsigned long k = 0; k < p.p_memsz; ++k) search->wrong |= bytes[k] != ((k * 7 + 1) & 0xff);
  }
  return 0;
}

__attribute__((noinline)) static void thrower(int depth) {
  if (depth == 0) throw std::runtime_error("thrown");
  thrower(depth - 1);
  asm volatile("");
}

extern "C" int look(unsigned long size) {
  Search search{reinterpret_cast<unsigned long>(&visit), size, 0, 0};
  dl_iterate_phdr(visit, &search);
  if (search.found != (size != 0 ? 1 : 0) || search.wrong) return printf("payload %d %d\n", search.found, search.wrong), 1;
  if (initialized_tls != 42 || zero_tls[50] != 0) return puts("TLS"), 2;
  for (char c : big_space) if (c != 0) return puts(".bss"), 3;
  memset(big_space, 1, sizeof big_space);
  if (constructed != 7) return puts("constructor"), 4;
  if (chosen() != 5) return puts("ifunc"), 5;
  std::string text;
  try { thrower(5); } catch (const std::exception& e) { text = e.what(); }
  if (text != "thrown") return puts("exception"), 6;
  char* more = static_cast<char*>(sbrk(1 << 16));
  if (more == reinterpret_cast<char*>(-1)) return puts("sbrk"), 7;
  memset(more, 1, 1 << 16);
  for (int i = 0; i < 100; ++i) memset(malloc(10000), 1, 10000);
  int other = 0;
  std::thread([&] { other = initialized_tls; }).join();
  return other == 42 ? 0 : (puts("thread"), 8);
}
)";

/// The same as a program, which takes the size as its argument.
inline std::string probe_program() {
  return std::string(probe_body) + "int main(int, char** v) { return look(strtoul(v[1], nullptr, 0)); }\n";
}

/// A program that links to a library of `probe_body`.
inline constexpr const char* probe_library_user =
    "#include <stdlib.h>\nint look(unsigned long);\nint main(int c, char** v) { return look(strtoul(v[1], 0, 0)); }\n";

}  // namespace sframe_gen::elf::test
