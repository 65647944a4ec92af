// Connects the targets with clang's fuzzer. Its arguments begin with --target=NAME, which the fuzzer passes over.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "elf_mutator.hpp"
#include "target.hpp"

namespace {

const sframe_gen::fuzz::Target* target = nullptr;

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr char option[] = "--target=";
  for (int i = 1; i < *count; ++i)
    if (std::strncmp((*arguments)[i], option, sizeof option - 1) == 0)
      target = sframe_gen::fuzz::find_target((*arguments)[i] + sizeof option - 1);
  if (target != nullptr) return 0;
  std::fprintf(stderr, "usage: fuzzer --target=NAME [OPTION or FOLDER...]\n");
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target->run(std::as_bytes(std::span(data, size)));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  if (target->takes_elf && seed % 8 != 0 && sframe_gen::fuzz::mutate_elf({data, size}, seed, LLVMFuzzerMutate))
    return size;
  return LLVMFuzzerMutate(data, size, most);
}
