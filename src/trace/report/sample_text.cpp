#include "trace/report/sample_text.hpp"

#include <sstream>
#include <string_view>

#include "support/hash.hpp"
#include "trace/report/frame_text.hpp"
#include "trace/report/text_report.hpp"

namespace sframe_gen::trace {

namespace {

constexpr std::size_t remembered = 8192, most_at_once = std::size_t{1} << 19U;
/// Names of templates can have kilobytes.
constexpr std::size_t longest_remembered = 1024;

bool is_same(const Frame& frame, const Frame& other) {
  return frame.location == other.location && frame.pc == other.pc && frame.pc_is_exact == other.pc_is_exact;
}

}  // namespace

SampleText::SampleText(std::ostream& out, KernelNames& kernel) : out_(out), kernel_(kernel), lines_(remembered) {}

void SampleText::add(const Sample& sample, const std::optional<Cut>& cut) {
  add_head(sample);
  for (const std::uint64_t pc : sample.kernel) add_kernel_frame(pc);
  for (const Frame& frame : sample.user.frames) add_frame(frame);
  if (cut || sample.user.by_dwarf) {
    std::ostringstream end;
    write_end(end, sample.user, cut);
    text_ += end.view();
  }
  text_ += '\n';
  if (text_.size() >= most_at_once) finish();
}

void SampleText::finish() {
  out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  text_.clear();
}

void SampleText::add_head(const Sample& sample) {
  constexpr std::uint64_t ns_in_s = 1'000'000'000, ns_in_us = 1000;
  constexpr std::size_t us_digits = 6;
  text_.append(sample.name) += ' ';
  text_.append(std::to_string(sample.thread)) += ' ';
  append_decimal(text_, sample.time / ns_in_s);
  text_ += '.';
  append_decimal(text_, sample.time % ns_in_s / ns_in_us, us_digits);
  text_ += ":\n";
}

SampleText::Line& SampleText::line_for(const Frame& frame) {
  const auto location = reinterpret_cast<std::uintptr_t>(frame.location);
  return lines_[chained(mixed(frame.pc), location + (frame.pc_is_exact ? 1 : 0)) % remembered];
}

void SampleText::add_kernel_frame(std::uint64_t pc) {
  const Frame frame{pc, true, &in_kernel_};
  Line& line = line_for(frame);
  if (!is_same(line.frame, frame)) {
    const std::string_view name = kernel_.name_at(pc);
    line = {frame, {}};
    append_hex(line.text, pc, address_digits, ' ');
    line.text += ' ';
    line.text.append(name.empty() ? "[unknown]" : name).append(" ([kernel])\n");
  }
  text_ += line.text;
}

void SampleText::add_frame(const Frame& frame) {
  Line& line = line_for(frame);
  if (frame.location != nullptr && is_same(line.frame, frame)) {
    text_ += line.text;
    return;
  }
  const NamedFrame named = trace::named(frame);
  const std::size_t begin = text_.size();
  append_hex(text_, named.pc, address_digits, ' ');
  text_ += ' ';
  append_function(text_, named, "[unknown]");
  text_.append(" (").append(named.file.empty() ? "[unknown]" : named.file).append(")\n");
  const std::string_view text = std::string_view(text_).substr(begin);
  if (frame.location == nullptr || text.size() > longest_remembered) return;
  line.frame = frame;
  line.text = text;
}

}  // namespace sframe_gen::trace
