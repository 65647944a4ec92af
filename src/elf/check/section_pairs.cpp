#include "elf/check/section_pairs.hpp"

#include <set>

#include "elf/constants.hpp"
#include "elf/type_names.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::elf {

namespace {

/// Pairs of both tables so far.
class Pairing {
 public:
  Pairing(const Image& input, const Image& output)
      : in_(input), out_(output), partner_(in_.sections().size()), found_(in_.sections().size(), false) {}

  /// Walks both tables in step.
  template <typename Predicate>
  void pair_in_order(Predicate matches) {
    std::uint32_t next = 0;
    for (const Section& old : in_.sections()) {
      for (std::uint32_t i = next; i < out_.sections().size(); ++i) {
        if (taken_.contains(i) || !matches(old, out_.sections()[i])) continue;
        pair(old.index, i);
        next = i + 1;
        break;
      }
    }
  }

  void pair_by_name() {
    for (const Section& old : in_.sections()) {
      if (found_[old.index]) continue;
      for (const Section& now : out_.sections()) {
        if (taken_.contains(now.index) || old.name != now.name) continue;
        pair(old.index, now.index);
        break;
      }
      if (!found_[old.index]) throw LayoutViolation(in_.name(), describe(old) + " must be kept");
    }
  }

  SectionPairs release() { return std::move(partner_); }

 private:
  void pair(std::uint32_t old_index, std::uint32_t new_index) {
    partner_[old_index] = new_index;
    found_[old_index] = true;
    taken_.insert(new_index);
  }

  const Image& in_;
  const Image& out_;
  SectionPairs partner_;
  std::vector<bool> found_;
  std::set<std::uint32_t> taken_;
};

}  // namespace

SectionPairs pair_sections(const Image& input, const Image& output, const NewSection& added) {
  Pairing pairing(input, output);
  pairing.pair_in_order([&](const Section& a, const Section& b) {
    return a.name == b.name && a.name != added.name && a.name != added.undo_name &&
           a.header.sh_addr == b.header.sh_addr && a.header.sh_type == b.header.sh_type &&
           a.header.sh_flags == b.header.sh_flags;
  });
  pairing.pair_by_name();
  std::size_t count = input.sections().size();
  if (input.find_section(added.name) == nullptr) ++count;
  if (added.keeps_way_back && input.find_section(added.undo_name) == nullptr) ++count;
  if (input.find_section(old_headers_name) == nullptr && output.find_section(old_headers_name) != nullptr) ++count;
  if (output.sections().size() != count) {
    throw LayoutViolation(input.name(), "no section but " + std::string(added.name) + " and " +
                                            std::string(added.undo_name) + " may be added");
  }
  return pairing.release();
}

}  // namespace sframe_gen::elf
