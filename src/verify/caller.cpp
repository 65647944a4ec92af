#include "verify/caller.hpp"

namespace sframe_gen::verify {

bool same_caller(const Caller& a, const Caller& b) {
  if (!a.exists || !b.exists) return a.exists == b.exists;
  const auto same = [](const std::optional<std::uint64_t>& x, const std::optional<std::uint64_t>& y) {
    return x && y && *x == *y;
  };
  return same(a.stack_pointer, b.stack_pointer) && same(a.frame_pointer, b.frame_pointer) &&
         same(a.return_address, b.return_address);
}

}  // namespace sframe_gen::verify
