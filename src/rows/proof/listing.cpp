#include "rows/proof/listing.hpp"

#include <algorithm>

namespace sframe_gen::rows::proof {

Listing::Listing(const elf::Image& image, const Decoder& decoder, const Range& own)
    : image_(image), decoder_(decoder), own_(own) {}

const std::uint32_t* Listing::number_at(std::uint64_t pc) const {
  if (own_.contains(pc)) {
    if (pc - own_.begin < own_lines_.size()) return &own_lines_[pc - own_.begin];
  }
  const auto found = other_lines_.find(pc);
  return found == other_lines_.end() ? nullptr : &found->second;
}

std::uint32_t& Listing::number_for(std::uint64_t pc) {
  // Without CFI, a function may seem to go on to the end of the code. What is far away from all that was read yet goes
  // the slower way.
  const std::uint64_t offset = pc - own_.begin, near = 4096 + 64 * lines_.size();
  if (!own_.contains(pc) || (offset >= own_lines_.size() && offset >= near)) return other_lines_[pc];
  if (offset >= own_lines_.size()) {
    const std::uint64_t size = std::max<std::uint64_t>(offset + 256, 2 * own_lines_.size());
    own_lines_.resize(std::min(own_.size(), size));
    std::erase_if(other_lines_, [this](const auto& line) {
      if (!own_.contains(line.first) || line.first - own_.begin >= own_lines_.size()) return false;
      own_lines_[line.first - own_.begin] = line.second;
      return true;
    });
  }
  return own_lines_[offset];
}

const Listing::Line* Listing::line_at(std::uint64_t pc) const {
  const std::uint32_t* const number = number_at(pc);
  return number == nullptr || *number == 0 ? nullptr : &lines_[*number - 1];
}

Listing::Line& Listing::at(std::uint64_t pc) {
  std::uint32_t& number = number_for(pc);
  if (number == 0) {
    const std::uint64_t left = image_.code_left(pc);
    const auto bytes = left == 0 ? std::span<const std::byte>() : elf::loaded_bytes_from(image_, pc);
    Line line;
    line.pc = pc;
    line.instruction = decoder_.decode(bytes.first(std::min<std::uint64_t>({bytes.size(), left, 15})), pc);
    lines_.push_back(line);
    number = static_cast<std::uint32_t>(lines_.size());
  }
  return lines_[number - 1];
}

const std::set<std::uint64_t>& Listing::taken_addresses() {
  if (!has_swept_) {
    has_swept_ = true;
    for (std::uint64_t pc = own_.begin; pc < own_.end;) pc += std::max<std::uint64_t>(at(pc).instruction.size, 1);
  }
  return addresses_taken_so_far();
}

const std::set<std::uint64_t>& Listing::addresses_taken_so_far() {
  for (; lines_seen_ < lines_.size(); ++lines_seen_) {
    const Instruction& instruction = lines_[lines_seen_].instruction;
    if (instruction.operation != Operation::LoadAddress) continue;
    const std::optional<std::uint64_t> address = taken_by(instruction);
    if (address && image_.code_left(*address) == 0) taken_.insert(*address);
  }
  return taken_;
}

}  // namespace sframe_gen::rows::proof
