#include "verify/caller.hpp"

namespace sframe_gen::verify {

bool same_caller(const Caller& a, const Caller& b) {
  if (!a.exists || !b.exists) return a.exists == b.exists;
  const auto same = [](const std::optional<std::uint64_t>& x, const std::optional<std::uint64_t>& y) {
    return x && y && *x == *y;
  };
  return a.signing == b.signing && a.signing != Caller::Signing::Unknown && same(a.stack_pointer, b.stack_pointer) &&
         same(a.frame_pointer, b.frame_pointer) && same(a.return_address, b.return_address);
}

std::string text_of(Caller::Signing signing) {
  switch (signing) {
    case Caller::Signing::None:
      return "";
    case Caller::Signing::KeyA:
      return " (signed with key A)";
    case Caller::Signing::KeyB:
      return " (signed with key B)";
    case Caller::Signing::Unknown:
      return " (signed in a way SFrame cannot say)";
  }
  return {};
}

}  // namespace sframe_gen::verify
