#include "trace/report/folded.hpp"

#include <algorithm>

#include "trace/report/named_frame.hpp"

namespace sframe_gen::trace {

namespace {

/// The marks of the form itself must not come from names.
std::string without_marks(std::string name) {
  std::ranges::replace(name, ';', ':');
  std::ranges::replace(name, '\n', ' ');
  return name;
}

std::string frame_text(const Frame& frame) {
  const NamedFrame named = trace::named(frame);
  if (!named.function.empty()) return without_marks(std::string(named.function));
  return "[" + without_marks(std::string(named.file.empty() ? "unknown" : short_name(named.file))) + "]";
}

}  // namespace

void FoldedStacks::add(KernelNames& kernel, const Sample& sample) {
  std::string text = without_marks(sample.name);
  for (std::size_t i = sample.user.frames.size(); i-- > 0;) text += ";" + frame_text(sample.user.frames[i]);
  for (std::size_t i = sample.kernel.size(); i-- > 0;) {
    const std::string name = without_marks(std::string(kernel.name_at(sample.kernel[i])));
    text += name.empty() ? ";[kernel]" : ";" + name + "_[k]";
  }
  ++counts_[text];
}

void FoldedStacks::write(std::ostream& out) const {
  for (const auto& [text, count] : counts_) out << text << ' ' << count << '\n';
}

}  // namespace sframe_gen::trace
