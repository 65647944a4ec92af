#include "trace/report/json_report.hpp"

#include <nlohmann/json.hpp>

#include "support/text.hpp"
#include "trace/walk/stack.hpp"

namespace sframe_gen::trace::report {

namespace {

using nlohmann::ordered_json;

void add_source(ordered_json& json, const walk::SourceLine& place) {
  if (!place.file.empty()) json["source"] = place.file;
  if (place.line != 0) json["line"] = place.line;
}

ordered_json inlined_of(const NamedFrame& named) {
  ordered_json calls = ordered_json::array();
  for (const walk::InlinedCall& inlined : named.inlined) {
    ordered_json call = ordered_json::object();
    if (!inlined.function.empty()) call["function"] = inlined.function;
    add_source(call, inlined.place);
    calls.push_back(std::move(call));
  }
  return calls;
}

ordered_json frames_of(const walk::Stack& stack) {
  ordered_json frames = ordered_json::array();
  for (const walk::Frame& frame : stack.frames) {
    if (frame.left_out != 0) {
      ordered_json json = ordered_json::object();
      json["left_out"] = frame.left_out == walk::Frame::some ? ordered_json() : ordered_json(frame.left_out);
      frames.push_back(std::move(json));
      continue;
    }
    const NamedFrame named = trace::report::named(frame);
    ordered_json json{{"pc", hex(named.pc)}};
    if (!named.function.empty()) {
      json["function"] = named.function;
      json["offset"] = hex(named.offset);
    }
    if (!named.file.empty()) {
      json["file"] = named.file;
      json["address"] = hex(named.address);
    }
    add_source(json, named.place);
    if (!named.inlined.empty()) json["inlined"] = inlined_of(named);
    if (frame.by_frame_pointer) json["by_frame_pointer"] = true;
    if (frame.from_earlier_sample) json["from_earlier_sample"] = true;
    if (frame.by_code) json["by_code"] = true;
    frames.push_back(std::move(json));
  }
  return frames;
}

void add_end(ordered_json& json, const walk::Stack& stack, const std::optional<walk::StackEnd>& cut) {
  // A recorded call chain does not say.
  if (stack.is_as_recorded) {
    json["recorded"] = true;
  } else {
    json["whole"] = stack.is_whole();
  }
  if (cut) json["cut"] = {{"file", cut->file}, {"reason", cut->reason}, {"address", cut->place}};
  const auto comparison = walk::comparison_of(stack);
  if (!comparison) return;
  ordered_json dwarf{{"match", walk::text_of(comparison->match)}, {"frames", comparison->dwarf_last + 1}};
  if (comparison->match == walk::Match::Different) dwarf["differs"] = comparison->frame;
  if (comparison->dwarf_frame) dwarf["pc"] = hex(comparison->dwarf_frame->pc);
  if (!comparison->dwarf_cut.empty()) dwarf["cut"] = comparison->dwarf_cut;
  json["dwarf"] = std::move(dwarf);
}

/// Names need not be UTF-8.
void write_line(std::ostream& out, const ordered_json& json) {
  out << json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace

std::string quoted_for_script(const std::string& text) {
  std::string quoted;
  for (const char letter : ordered_json(text).dump(-1, ' ', true, ordered_json::error_handler_t::replace)) {
    if (letter == '<' || letter == '>') {
      quoted += letter == '<' ? "\\u003c" : "\\u003e";
    } else {
      quoted += letter;
    }
  }
  return quoted;
}

void write_json(std::ostream& out, const ThreadStack& thread, const walk::Stack& stack,
                const std::optional<walk::StackEnd>& cut) {
  ordered_json json{{"process", thread.process}, {"thread", thread.thread}, {"name", thread.name}};
  if (thread.signal != 0) json["signal"] = thread.signal;
  if (!thread.missing.empty()) {
    json["missing"] = thread.missing;
  } else {
    json["frames"] = frames_of(stack);
    add_end(json, stack, cut);
  }
  write_line(out, json);
}

void write_json(std::ostream& out, recorded::KernelNames& kernel, const recorded::Sample& sample,
                const recorded::SampledEvent& event, const std::optional<walk::StackEnd>& cut) {
  ordered_json json{{"process", sample.process}, {"thread", sample.thread}, {"name", sample.name},
                    {"ns", sample.time},         {"event", event.name},     {"period", sample.period}};
  ordered_json frames = ordered_json::array();
  for (const std::uint64_t pc : sample.kernel) {
    ordered_json frame{{"pc", hex(pc)}};
    if (const std::string_view name = kernel.name_at(pc); !name.empty()) frame["function"] = name;
    frames.push_back(std::move(frame));
  }
  json["kernel"] = std::move(frames);
  if (sample.has_user_stack) {
    json["frames"] = frames_of(sample.user);
    add_end(json, sample.user, cut);
  }
  write_line(out, json);
}

}  // namespace sframe_gen::trace::report
