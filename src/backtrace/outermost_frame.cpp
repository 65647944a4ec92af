#include "backtrace/outermost_frame.hpp"

#include <cstddef>
#include <cstring>

#include "backtrace/originals.hpp"

namespace sframe_gen::backtrace {
namespace {

#if defined(__x86_64__)

/// A CIE or an FDE of .eh_frame: its length, then as many bytes.
struct Entry {
  const unsigned char *begin, *end;
};

Entry entry_at(const void* bytes) {
  std::uint32_t length = 0;
  std::memcpy(&length, bytes, sizeof length);
  const auto* const begin = static_cast<const unsigned char*>(bytes) + sizeof length;
  // The length of a larger entry follows: no small one has it, and these have a few dozen bytes.
  constexpr std::uint32_t most = 1024;
  return {begin, begin + (length <= most ? length : 0)};
}

/// Whether the instructions are DW_CFA_nop and DW_CFA_undefined(16), the return address.
bool have_no_return_address_only(const unsigned char* at, const unsigned char* end) {
  while (at < end) {
    if (*at == 0) {
      ++at;
    } else if (end - at >= 2 && at[0] == 7 && at[1] == 16) {
      at += 2;
    } else {
      return false;
    }
  }
  return true;
}

/// After the CIE's identifier: version 1, augmentation "zR", factors 1 and -8, return address in 16, pointers of 4
/// bytes; DW_CFA_def_cfa(7, 8), DW_CFA_offset(16, 1).
constexpr unsigned char usual_cie[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};
constexpr std::ptrdiff_t identifier_size = 4;
constexpr std::ptrdiff_t fde_head_size = 4 + 4 + 4 + 1;  // the CIE's distance, begin, size, an empty augmentation

bool is_usual(const void* fde_bytes) {
  const Entry fde = entry_at(fde_bytes);
  if (fde.end - fde.begin < fde_head_size || fde.begin[fde_head_size - 1] != 0) return false;
  std::uint32_t distance = 0;
  std::memcpy(&distance, fde.begin, sizeof distance);
  const Entry cie = entry_at(fde.begin - distance);
  const unsigned char* const fields = cie.begin + identifier_size;
  const auto size = static_cast<std::ptrdiff_t>(sizeof usual_cie);
  if (cie.end - fields < size || std::memcmp(fields, usual_cie, sizeof usual_cie) != 0) return false;
  return have_no_return_address_only(fields + size, cie.end) &&
         have_no_return_address_only(fde.begin + fde_head_size, fde.end);
}

#endif

}  // namespace

std::uint64_t cfa_of_outermost([[maybe_unused]] std::uint64_t pc, [[maybe_unused]] std::uint64_t sp) {
#if defined(__x86_64__)
  FunctionBases bases{};
  auto* const find = original<&Originals::find_fde>();
  if (find == nullptr) return 0;
  const void* const fde =
      find(reinterpret_cast<void*>(pc - 1), &bases);  // NOLINT(performance-no-int-to-ptr): an address
  return fde != nullptr && is_usual(fde) ? sp + 8 : 0;
#else
  return 0;
#endif
}

}  // namespace sframe_gen::backtrace
