#pragma once

#include <cstdint>
#include <string_view>

namespace sframe_gen::trace {

struct KernelFunction {
  std::uint64_t begin;
  std::string_view name;
  std::string_view module;  ///< "[ext4]", "[bpf]" of code that the kernel has made; empty: the kernel's own
};

}  // namespace sframe_gen::trace
