#include "trace/report/sample_text.hpp"

#include <limits>
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
/// The kernel is in all address spaces.
constexpr std::uint64_t kernel_version = std::numeric_limits<std::uint64_t>::max();

}  // namespace

SampleText::SampleText(std::ostream& out, KernelNames& kernel) : out_(out), kernel_(kernel), lines_(remembered) {}

void SampleText::add(AddressSpace& space, const Sample& sample, const std::optional<Cut>& cut) {
  add_head(sample);
  for (const std::uint64_t pc : sample.kernel) add_kernel_frame(pc);
  for (const Frame& frame : sample.user.frames) add_frame(space, frame);
  if (cut || sample.user.by_dwarf) {
    std::ostringstream end;
    write_end(end, space, sample.user, cut);
    text_ += end.view();
  }
  text_ += '\n';
  if (text_.size() >= most_at_once) write_beside();
}

void SampleText::finish() {
  if (!text_.empty()) write_beside();
  if (writing_.valid()) writing_.get();
}

void SampleText::write_beside() {
  if (writing_.valid()) writing_.get();
  text_.swap(written_);
  text_.clear();
  // Where no thread can be had, this waits for get().
  writing_ = std::async([this] { out_.write(written_.data(), static_cast<std::streamsize>(written_.size())); });
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

SampleText::Line& SampleText::line_for(std::uint64_t version, const Frame& frame) {
  return lines_[chained(mixed(frame.pc), version * 2 + (frame.pc_is_exact ? 1 : 0)) % remembered];
}

void SampleText::add_kernel_frame(std::uint64_t pc) {
  const Frame frame{pc, true};
  Line& line = line_for(kernel_version, frame);
  if (line.version != kernel_version || line.frame.pc != pc) {
    const std::string_view name = kernel_.name_at(pc);
    line = {kernel_version, frame, {}};
    append_hex(line.text, pc, address_digits, ' ');
    line.text += ' ';
    line.text.append(name.empty() ? "[unknown]" : name).append(" ([kernel])\n");
  }
  text_ += line.text;
}

void SampleText::add_frame(AddressSpace& space, const Frame& frame) {
  Line& line = line_for(space.version(), frame);
  if (line.version == space.version() && line.frame.pc == frame.pc && line.frame.pc_is_exact == frame.pc_is_exact) {
    text_ += line.text;
    return;
  }
  const NamedFrame named = trace::named(space, frame);
  const std::size_t begin = text_.size();
  append_hex(text_, named.pc, address_digits, ' ');
  text_ += ' ';
  append_function(text_, named, "[unknown]");
  text_.append(" (").append(named.file.empty() ? "[unknown]" : named.file).append(")\n");
  // A PC in no mapping may come to be in one.
  const std::string_view text = std::string_view(text_).substr(begin);
  if (named.file.empty() || text.size() > longest_remembered) return;
  line.version = space.version();
  line.frame = frame;
  line.text = text;
}

}  // namespace sframe_gen::trace
