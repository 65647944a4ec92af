#include "rows/proof/borders.hpp"

#include <algorithm>
#include <array>

#include "rows/proof/conditions.hpp"

namespace sframe_gen::rows::proof {

Borders::Borders(Program& program, const Range& own)
    : program_(program), own_(own), own_cfi_(program.described(own.begin)) {}

bool Borders::may_be_reached_by_jump(std::uint64_t pc) const {
  if (own_.contains(pc)) return true;
  if (program_.is_start(pc)) return false;
  return program_.described(pc) != nullptr || (own_cfi_ == nullptr && program_.is_undescribed(pc));
}

bool Borders::begins_another(std::uint64_t pc, const State& state) const {
  if (pc == own_.begin || !program_.is_start(pc)) return false;
  return conditions::is_as_at_entry(state) || !program_.is_label_after_all(pc);
}

bool Borders::ends_at(std::uint64_t pc) const {
  if (program_.is_start(pc)) return true;
  if (own_cfi_ == nullptr) return !own_.contains(pc) && !program_.is_undescribed(pc);
  if (pc == own_.end) return true;
  if (own_.contains(pc)) return false;
  const cfi::Function* const described = program_.described(pc);
  return described == nullptr || described->start == pc;
}

bool Borders::may_begin_after_call(std::uint64_t pc, bool returns_twice) const {
  if (own_cfi_ != nullptr) return false;
  if (program_.marks().is_taken(pc)) return true;
  static constexpr std::array endbr64{std::byte{0xf3}, std::byte{0x0f}, std::byte{0x1e}, std::byte{0xfa}};
  return !returns_twice && std::ranges::equal(elf::loaded_bytes(program_.image(), pc, endbr64.size()), endbr64);
}

bool Borders::is_inside_another(std::uint64_t pc) const {
  if (own_.contains(pc)) return false;
  const cfi::Function* const described = program_.described(pc);
  return described != nullptr && program_.is_start(described->start);
}

bool Borders::is_split_part(std::uint64_t pc) const {
  return own_cfi_ == nullptr && !own_.contains(pc) && program_.described(pc) == nullptr;
}

std::optional<Import> Borders::import_at(std::uint64_t pc) {
  const auto [place, is_new] = imports_.try_emplace(pc);
  if (is_new) place->second = program_.imports().of_stub(pc);
  return place->second;
}

}  // namespace sframe_gen::rows::proof
