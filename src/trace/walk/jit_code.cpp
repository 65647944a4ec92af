#include "trace/walk/jit_code.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "sframe_gen/error.hpp"
#include "support/text.hpp"

namespace sframe_gen::trace {

const std::string& JitCode::name() const {
  static const std::string none;
  return dump_ ? dump_->name() : none;
}

/// Code that it overlaps was given up, all of it.
void JitCode::place(std::size_t placement) {
  const auto& [time, begin, function] = dump_->placements()[placement];
  const std::uint64_t size =
      std::min(dump_->functions()[function].size, std::numeric_limits<std::uint64_t>::max() - begin);
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

std::shared_ptr<CodeFile> JitCode::file_of(const Part& part) {
  const std::size_t function = dump_->placements()[part.placement].function;
  std::shared_ptr<CodeFile>& file = files_[function];
  if (!file) {
    std::vector<std::byte> bytes = elf_file_of(dump_->functions()[function], dump_->machine(), dump_->endian());
    elf::Image image = elf::Image::of_bytes(bytes, dump_->name());
    file = std::make_shared<CodeFile>(std::move(image), std::move(bytes), options_, root_);
  }
  return file;
}

}  // namespace sframe_gen::trace
