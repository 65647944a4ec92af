// The functions that callbacks read contexts with. They also get the contexts of the original, in exceptions say, and
// hand these on.

#include "backtrace/own_context.hpp"

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

namespace {

struct WalkingOn {
  const OwnContext& from;
  _Unwind_Trace_Fn callback = nullptr;
  void* argument = nullptr;
  std::uint32_t number = 0;
  bool has_begun = false;  ///< the caller of the _Unwind_Backtrace() that is being answered was met
};

_Unwind_Reason_Code skip_and_call(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<WalkingOn*>(data);
  if (!walk.has_begun) {
    const std::uint64_t sp = original<&Originals::get_cfa>()(context);
    walk.has_begun = sp == walk.from.first_sp && original<&Originals::get_ip>()(context) == walk.from.first_pc;
    if (!walk.has_begun) return _URC_NO_REASON;
  }
  if (walk.number++ < walk.from.number) return _URC_NO_REASON;
  return walk.callback(context, walk.argument);
}

/// What is asked about a frame.
struct Question {
  _Unwind_Word (*ask)(_Unwind_Context*, int);
  int register_number;
  _Unwind_Word answer;
};

_Unwind_Reason_Code ask_once(_Unwind_Context* context, void* data) {
  auto& question = *static_cast<Question*>(data);
  question.answer = question.ask(context, question.register_number);
  return _URC_END_OF_STACK;
}

/// Has the original walk to the frame, and asks there.
[[gnu::noinline, gnu::cold]] _Unwind_Word ask_original(const OwnContext& context,
                                                       _Unwind_Word (*ask)(_Unwind_Context*, int), int number = 0) {
  Question question{ask, number, 0};
  walk_on(context, ask_once, &question);
  return question.answer;
}

/// What the tables say of the frame's function: all zeros if there is none.
[[gnu::noinline, gnu::cold]] FunctionBases bases_of(const OwnContext& context) {
  FunctionBases bases{};
  auto* const find = original<&Originals::find_fde>();
  const std::uint64_t pc = context.pc - (context.is_exact ? 0 : 1);
  if (find != nullptr) find(reinterpret_cast<void*>(pc), &bases);  // NOLINT(performance-no-int-to-ptr): an address
  return bases;
}

const OwnContext& own(const _Unwind_Context* context) {
  return *reinterpret_cast<const OwnContext*>(context);
}

}  // namespace

_Unwind_Reason_Code walk_on(const OwnContext& context, _Unwind_Trace_Fn callback, void* argument) {
  WalkingOn walk{context, callback, argument};
  return original<&Originals::unwind_backtrace>()(skip_and_call, &walk);
}

}  // namespace sframe_gen::backtrace

using namespace sframe_gen::backtrace;

extern "C" {

_Unwind_Ptr _Unwind_GetIP(_Unwind_Context* context) {
  return is_own(context) ? own(context).pc : original<&Originals::get_ip>()(context);
}

_Unwind_Ptr _Unwind_GetIPInfo(_Unwind_Context* context, int* is_before_instruction) {
  if (!is_own(context)) return original<&Originals::get_ip_info>()(context, is_before_instruction);
  *is_before_instruction = own(context).is_exact ? 1 : 0;
  return own(context).pc;
}

_Unwind_Word _Unwind_GetCFA(_Unwind_Context* context) {
  if (!is_own(context)) return original<&Originals::get_cfa>()(context);
  const OwnContext& frame = own(context);
  if (frame.sp != 0) return frame.sp;
  const bool is_usual = frame.pc == 0 && frame.last_pc != 0;
  if (const auto cfa = is_usual ? cfa_of_outermost(frame.last_pc, frame.last_sp) : 0) return cfa;
  return ask_original(own(context), [](_Unwind_Context* its, int) { return original<&Originals::get_cfa>()(its); });
}

_Unwind_Word _Unwind_GetGR(_Unwind_Context* context, int number) {
  if (!is_own(context)) return original<&Originals::get_gr>()(context, number);
  const auto ask = [](_Unwind_Context* its, int register_number) {
    return original<&Originals::get_gr>()(its, register_number);
  };
  return ask_original(own(context), ask, number);
}

_Unwind_Ptr _Unwind_GetRegionStart(_Unwind_Context* context) {
  if (!is_own(context)) return original<&Originals::get_region_start>()(context);
  if (own(context).pc != 0) return reinterpret_cast<_Unwind_Ptr>(bases_of(own(context)).function);
  return ask_original(own(context), [](_Unwind_Context* its, int) -> _Unwind_Word {
    return original<&Originals::get_region_start>()(its);
  });
}

void* _Unwind_GetLanguageSpecificData(_Unwind_Context* context) {
  if (!is_own(context)) return original<&Originals::get_language_specific_data>()(context);
  const auto ask = [](_Unwind_Context* its, int) {
    return reinterpret_cast<_Unwind_Word>(original<&Originals::get_language_specific_data>()(its));
  };
  return reinterpret_cast<void*>(ask_original(own(context), ask));  // NOLINT(performance-no-int-to-ptr): was one
}

_Unwind_Ptr _Unwind_GetDataRelBase(_Unwind_Context* context) {
  if (!is_own(context)) return original<&Originals::get_data_rel_base>()(context);
  return ask_original(own(context), [](_Unwind_Context* its, int) -> _Unwind_Word {
    return original<&Originals::get_data_rel_base>()(its);
  });
}

_Unwind_Ptr _Unwind_GetTextRelBase(_Unwind_Context* context) {
  if (!is_own(context)) return original<&Originals::get_text_rel_base>()(context);
  return ask_original(own(context), [](_Unwind_Context* its, int) -> _Unwind_Word {
    return original<&Originals::get_text_rel_base>()(its);
  });
}
}
