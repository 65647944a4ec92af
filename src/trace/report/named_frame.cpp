#include "trace/report/named_frame.hpp"

#include "support/text.hpp"

namespace sframe_gen::trace {

NamedFrame named(const Frame& frame) {
  NamedFrame named{.pc = frame.pc, .function = {}, .file = {}};
  if (frame.location == nullptr) return named;
  const Location& location = *frame.location;
  const std::uint64_t behind_call = frame.pc - frame.instruction();
  named.file = location.name;
  named.address = frame.pc - location.bias;
  CodeFile* const file = location.opened.file.get();
  if (file == nullptr) return named;
  const FunctionPlace* function = &file->function_at(frame.instruction() - location.bias);
  named.offset = function->offset + behind_call;
  // What handlers of signals return to is no call's end, but a function's begin.
  if (function->name.empty()) {
    function = &file->function_at(named.address);
    named.offset = function->offset;
  }
  named.function = function->name;
  return named;
}

std::string_view short_name(std::string_view file) {
  return file.substr(file.rfind('/') + 1);
}

std::string text_of(const Cut& cut) {
  return cut.file.empty() || cut.reason.starts_with(cut.file) ? cut.reason : cut.file + ": " + cut.reason;
}

std::optional<Cut> cut_of(const Stack& stack) {
  if (stack.is_whole() || stack.frames.empty()) return std::nullopt;
  const Frame& last = stack.frames.back();
  const std::uint64_t pc = last.instruction();
  if (last.location == nullptr) return Cut{{}, unwind::text_of(unwind::Stop::NoModule), hex(pc)};
  const auto& [name, opened, bias] = *last.location;
  Cut cut{name, unwind::text_of(stack.stop), hex(pc - bias)};
  switch (stack.stop) {
    case unwind::Stop::Stepped:
      cut.reason = "as many frames as were asked for";
      break;
    case unwind::Stop::NoSection:
      cut.reason = opened.file ? opened.file->why_no_rows() : opened.why_not;
      break;
    case unwind::Stop::NoRow:
      cut.reason = "no row";
      break;
    case unwind::Stop::UnreadableMemory:
      if (stack.is_piece) cut.reason = "the recorded piece of the stack ends";
      break;
    default:
      break;
  }
  // Messages have the names of files in them, which need not be fit to be printed.
  cut.reason = printable(cut.reason);
  return cut;
}

}  // namespace sframe_gen::trace
