#include "trace/report/named_frame.hpp"

#include "support/text.hpp"

namespace sframe_gen::trace {

NamedFrame named(AddressSpace& space, const Frame& frame) {
  NamedFrame named{.pc = frame.pc, .function = {}, .file = {}};
  const AddressSpace::Place place = space.place_of(frame.instruction());
  if (place.mapping == nullptr) return named;
  const std::uint64_t behind_call = frame.pc - frame.instruction();
  named.file = place.name;
  named.address = place.address + behind_call;
  if (place.file == nullptr) return named;
  const FunctionPlace* function = &place.file->function_at(place.address);
  named.offset = function->offset + behind_call;
  // What handlers of signals return to is no call's end, but a function's begin.
  if (function->name.empty()) {
    function = &place.file->function_at(named.address);
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

std::optional<Cut> cut_of(AddressSpace& space, const Stack& stack) {
  if (stack.is_whole() || stack.frames.empty()) return std::nullopt;
  const std::uint64_t pc = stack.frames.back().instruction();
  const AddressSpace::Place place = space.place_of(pc);
  if (place.mapping == nullptr) return Cut{{}, unwind::text_of(unwind::Stop::NoModule), hex(pc)};
  Cut cut{std::string(place.name), unwind::text_of(stack.stop), hex(place.address)};
  switch (stack.stop) {
    case unwind::Stop::Stepped:
      cut.reason = "as many frames as were asked for";
      break;
    case unwind::Stop::NoSection:
      cut.reason = place.file == nullptr ? std::string(place.why_no_file) : place.file->why_no_rows();
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
