#include "trace/walk/jit_code.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "sframe_gen/error.hpp"
#include "trace/walk/demangle.hpp"

namespace sframe_gen::trace::walk {

const std::string& JitCode::name() const {
  static const std::string none;
  return dump_ ? dump_->name() : none;
}

/// Code that it overlaps was given up, all of it.
void JitCode::place(std::size_t placement) {
  const auto& [time, begin, function] = dump_->placements()[placement];
  const std::uint64_t size =
      std::min<std::uint64_t>(dump_->function(function).code.size(), std::numeric_limits<std::uint64_t>::max() - begin);
  if (size == 0) return;
  auto first = parts_.upper_bound(begin);
  if (first != parts_.begin() && std::prev(first)->second.end > begin) --first;
  parts_.erase(first, parts_.lower_bound(begin + size));
  parts_.emplace(begin, Part{begin, begin + size, placement});
}

std::optional<JitCode::Part> JitCode::part_at(std::uint64_t pc) {
  if (open_) {
    try {
      dump_.emplace(std::exchange(open_, nullptr)());
    } catch (const Failure& failure) {
      why_not_ = failure.what();
    }
  }
  if (!dump_) return std::nullopt;
  for (; next_ < dump_->placements().size() && dump_->placements()[next_].time <= time_; ++next_) place(next_);
  auto found = parts_.upper_bound(pc);
  if (found == parts_.begin() || pc >= (--found)->second.end) return std::nullopt;
  return found->second;
}

std::shared_ptr<CodeFile> JitCode::file_of(std::size_t function) {
  constexpr std::size_t most = 256;
  files_.resize(most);
  auto& [made_for, file] = files_[function % most];
  if (!file || made_for != function) {
    std::vector<std::byte> bytes = elf_file_of(dump_->function(function), dump_->machine(), dump_->endian());
    elf::Image image = elf::Image::of_bytes(bytes, dump_->name());
    file = std::make_shared<CodeFile>(std::move(image), std::move(bytes), options_, root_);
    made_for = function;
  }
  return file;
}

std::string_view JitCode::name_of(std::size_t function) {
  std::string_view written = dump_->function(function).name;
  written = written.substr(0, written.find('@'));
  const auto is_plain = [](char letter) { return letter >= ' ' && letter <= '~'; };
  // Names that compilers for C++ and Rust made begin with an underscore.
  if (!written.starts_with('_') && written.size() <= longest_name && std::ranges::all_of(written, is_plain))
    return written;
  const auto [name, is_first] = names_.try_emplace(function);
  if (is_first) name->second = name_for_people(std::string(written));
  return name->second;
}

}  // namespace sframe_gen::trace::walk
