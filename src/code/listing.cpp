#include "code/listing.hpp"

namespace sframe_gen::code {

Listing::Listing(const elf::Image& image, const Decoder& decoder, const Range& own)
    : image_(image), decoder_(decoder), own_(own), own_lines_(own.size()) {}

bool Listing::has(std::uint64_t pc) const {
  return own_.contains(pc) ? own_lines_[pc - own_.begin] != 0 : other_lines_.contains(pc);
}

Listing::Line& Listing::at(std::uint64_t pc) {
  std::uint32_t& number = own_.contains(pc) ? own_lines_[pc - own_.begin] : other_lines_[pc];
  if (number == 0) {
    const std::uint64_t left = image_.code_left(pc);
    const auto bytes = left == 0 ? std::span<const std::byte>() : elf::loaded_bytes_from(image_, pc);
    Line line;
    line.instruction = decoder_.decode(bytes.first(std::min<std::uint64_t>({bytes.size(), left, 15})), pc);
    lines_.push_back(line);
    number = static_cast<std::uint32_t>(lines_.size());
  }
  return lines_[number - 1];
}

const std::set<std::uint64_t>& Listing::taken_addresses() {
  if (has_taken_) return taken_;
  has_taken_ = true;
  for (std::uint64_t pc = own_.begin; pc < own_.end;) {
    const Instruction& instruction = at(pc).instruction;
    const Operand& source = instruction.operands[1];
    const bool takes =
        instruction.operation == Operation::LoadAddress && source.base == no_register && source.index == no_register;
    if (takes && image_.code_left(static_cast<std::uint64_t>(source.number)) == 0)
      taken_.insert(static_cast<std::uint64_t>(source.number));
    pc += instruction.size == 0 ? 1 : instruction.size;
  }
  return taken_;
}

}  // namespace sframe_gen::code
