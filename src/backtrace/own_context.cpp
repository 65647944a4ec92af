// The functions that callbacks read contexts with. They also get the contexts of the original, in exceptions say, and
// hand these on.

#include "backtrace/own_context.hpp"

#include "backtrace/originals.hpp"
#include "backtrace/outermost_frame.hpp"

namespace sframe_gen::backtrace {
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
