#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "cfi/formulas.hpp"
#include "cfi/frame_index.hpp"
#include "cfi/interpreter.hpp"
#include "cfi/spelled.hpp"

namespace sframe_gen::test {

/// CFA = rsp + `offset`, RA at CFA - 8.
inline cfi::Rules sp_plus(std::int64_t offset) {
  return {reg(7, offset), {}, {}, at_cfa(-8)};
}

/// Call frame instructions and expressions as a person writes them: bytes in order.
class Bytes {
 public:
  Bytes(std::initializer_list<int> bytes) {
    for (const int byte : bytes) bytes_.push_back(static_cast<std::byte>(byte));
  }
  explicit Bytes(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::span<const std::byte> span() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// One CIE and one FDE of 0x100 bytes at 0x1000, by hand: code alignment 1, data alignment -8, returns by the machine's
/// column (16 of x86-64, where nothing else is said).
class OneFunction {
 public:
  /// What gcc and clang start every x86-64 function with: CFA = rsp + 8, RA at CFA - 8.
  static inline const std::vector<std::byte> usual_start{std::byte{0x0c}, std::byte{7}, std::byte{8}, std::byte{0x90},
                                                         std::byte{1}};

  explicit OneFunction(const Bytes& instructions) : OneFunction(instructions, usual_start) {}
  OneFunction(const Bytes& instructions, std::span<const std::byte> initial,
              const cfi::TrackedRegisters& tracked = cfi::amd64::tracked)
      : tracked_(tracked) {
    bytes_.assign(initial.begin(), initial.end());
    bytes_.insert(bytes_.end(), instructions.span().begin(), instructions.span().end());
    table_.origin = {"file", ".eh_frame"};
    table_.section_address = 0x500000;
    table_.section_bytes = bytes_;
    table_.cies.push_back({1, -8, tracked.return_address, 0, false, std::span(bytes_).first(initial.size())});
    table_.fdes.push_back({0x1000, 0x100, 0x20, 0, static_cast<std::uint32_t>(initial.size()),
                           static_cast<std::uint32_t>(instructions.span().size())});
  }

  cfi::FrameTable& table() { return table_; }
  const cfi::FrameTable& table() const { return table_; }
  cfi::Cie& cie() { return table_.cies[0]; }
  cfi::Fde& fde() { return table_.fdes[0]; }
  const cfi::Fde& fde() const { return table_.fdes[0]; }

  std::vector<SpelledRow> rows() const {
    cfi::RuleTable rules;
    std::vector<cfi::Row> rows;
    cfi::CfiInterpreter(table_, tracked_, rules).run(table_.fdes[0], rows);
    return spelled(rows, rules);
  }
  /// The rules in force at the function's end.
  cfi::Rules last() const { return rows().back().rules; }

 private:
  std::vector<std::byte> bytes_;
  cfi::TrackedRegisters tracked_;
  cfi::FrameTable table_;
};

}  // namespace sframe_gen::test
