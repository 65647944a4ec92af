#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "elf/image.hpp"
#include "elf/symbol_names.hpp"
#include "encode/row_sources.hpp"
#include "sframe_gen/coverage.hpp"
#include "support/range.hpp"

namespace sframe_gen::api {

/// Addresses of a file as people write them: "0x4010"; "main+0x3"; ".text+0x10", which is how those of an object are
/// said, as its sections have none of their own yet.
class AddressNames {
 public:
  /// The image must outlive it.
  explicit AddressNames(const elf::Image& image);

  /// "main+0x3"; empty if no symbol is there.
  std::string symbol_at(std::uint64_t address);
  /// "0x4010", or of an object ".text+0x10".
  std::string text_of(std::uint64_t address) const;
  /// What the row of the address is made from, in a descriptor that begins at `start`. Nothing, if the file has nothing
  /// that describes it, or if that is damaged.
  std::optional<RowSource> source_at(std::uint64_t address, std::uint64_t start);
  /// Whether source_at() has found something that describes code, and could read it.
  bool knows_sources() const { return sources_ && !sources_->pieces().empty(); }

  /// "0x4010" is one address; "main" all of the function's; "main+0x3" and ".text+0x10" one; "0x4010..0x4020" those
  /// before the second. Throws Refused.
  Range range_of(std::string_view place);
  /// Returns the first address of a place that is not a range "BEGIN..END". Throws Refused.
  std::uint64_t address_of(std::string_view place);

 private:
  /// Returns the range of a number, a name, or a name with an offset.
  std::optional<Range> single(std::string_view place);
  /// Returns the range of "BEGIN..END", even if it is empty.
  std::optional<Range> between_two(std::string_view place);
  std::optional<Range> named(std::string_view name);

  const elf::Image& image_;
  elf::SymbolNames names_;
  std::optional<elf::SectionsByAddress> sections_;  ///< of an object
  std::optional<encode::RowSources> sources_;
};

}  // namespace sframe_gen::api
