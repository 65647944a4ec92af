// Connects a target, SFRAME_GEN_FUZZ_TARGET, with a fuzzing engine: that of clang, AFL++, honggfuzz, or one with the
// same interface. CMake compiles it for each target.

#include "mutator.hpp"
#include "target.hpp"

/// Engines that do not mutate by LLVMFuzzerCustomMutator() may lack it.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sframe_gen::fuzz::SFRAME_GEN_FUZZ_TARGET(std::as_bytes(std::span(data, size)));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  using namespace sframe_gen::fuzz;
  if (seed % 8 != 0 && mutate_elf({data, size}, seed, LLVMFuzzerMutate)) return size;
  if (LLVMFuzzerMutate != nullptr) return LLVMFuzzerMutate(data, size, most);
  change_bytes({data, size}, seed);
  return size;
}
