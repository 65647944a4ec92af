#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "support/endian.hpp"
#include "support/range.hpp"
#include "verify/cfi_sections.hpp"

namespace sframe_gen::verify {

/// The unwind table's rule for one column at one PC, as libdwarf's own row evaluation gives it. Nothing of it comes
/// from src/cfi, which src/verify must not include: --verify compares the two.
struct EvaluatedRule {
  enum class Kind : std::uint8_t { Offset, ValOffset, Expression, ValExpression };
  Kind kind = Kind::Offset;
  bool offset_relevant = false;  ///< with Kind::Offset: false means `base` itself is the value
  std::uint64_t base = 0;        ///< DWARF register number, or one of DwarfSession's special columns
  std::int64_t offset = 0;       ///< from `base`
  std::span<const std::byte> block;
  std::optional<std::uint64_t> next_row_pc;  ///< where the table's next row starts; none: this is the last
};

/// A libdwarf reader over one CFI section. The only user of libdwarf, whose types do not leave libdwarf.cpp. libdwarf
/// gets the section's bytes and never parses the ELF file itself.
class DwarfSession {
 public:
  /// Columns that `EvaluatedRule::base` can name beside the machine's registers. A register without a rule reads as
  /// `same_value_column`.
  static constexpr std::uint16_t cfa_column = 1436, undefined_column = 1034, same_value_column = 1035;

  /// `section_bytes` must outlive the session. Throws MalformedInput for a damaged section.
  DwarfSession(CfiKind kind, std::span<const std::byte> section_bytes, std::uint64_t section_address, Endian endian,
               const InputOrigin& origin);
  ~DwarfSession();
  DwarfSession(DwarfSession&&) noexcept;
  DwarfSession& operator=(DwarfSession&&) noexcept;

  const DwarfTable& table() const;
  /// Returns the rule of `column` (a register number or `cfa_column`) at `pc` in FDE `fde_index` of the table.
  /// Throws MalformedInput when libdwarf cannot evaluate it.
  EvaluatedRule evaluate(std::size_t fde_index, std::uint16_t column, std::uint64_t pc) const;

  /// Frees the tables, some kilobytes each, that libdwarf keeps for every FDE that it has evaluated.
  void release_memory();

 private:
  class Handle;
  std::unique_ptr<Handle> handle_;
};

/// Makes libdwarf keep no tree of every block that it hands out, by which forgotten blocks could be freed. A session
/// knows its own blocks, and the tree takes half the time. For a program of its own, not for a library: it changes
/// libdwarf for the whole process.
void skip_bookkeeping_of_libdwarf();

/// Finds the FDEs that describe a PC. FDEs of size zero and FDEs of no code are left out.
class FdeIndex {
 public:
  FdeIndex(const DwarfSession& session, const elf::Image& image);

  const DwarfSession& session() const { return *session_; }

  /// Returns indices into the session's table of the FDEs that hold `pc`.
  std::vector<std::size_t> fdes_at(std::uint64_t pc) const;
  /// Returns the lowest start or end of an FDE above `pc`; the highest address if there is none.
  std::uint64_t boundary_after(std::uint64_t pc) const;
  void add_ranges(std::vector<Range>& ranges) const;

 private:
  struct DescribedCode {
    Range range;
    std::uint64_t highest_end = 0;  ///< over this and all before it
    std::size_t index = 0;
  };
  const DwarfSession* session_;
  std::vector<DescribedCode> described_;  ///< ascending by where the ranges begin
  std::vector<std::uint64_t> boundaries_;
};

}  // namespace sframe_gen::verify
