#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cfi/rules.hpp"
#include "elf/go_table.hpp"
#include "elf/image.hpp"
#include "sframe_gen/format.hpp"

namespace sframe_gen::rows::go {

/// Why code of Go has no rows.
enum class Gap : std::uint8_t {
  SwitchesStacks,  ///< the function goes on on another stack
  NotCalled,       ///< control comes by other ways than calls: from a signal handler, or to return from one
  Registers,       ///< its instructions do not show where the caller's frame pointer, or on aarch64 LR, is
  Instructions,    ///< they are not known, or contradict the table
};

/// What holds from an offset on.
struct GoRow {
  std::uint32_t pc_offset = 0;  ///< bytes from the function's start
  cfi::Rules rules;
  friend bool operator==(const GoRow&, const GoRow&) = default;
};

/// A function's rows, or why it has none.
struct GoFunction {
  std::uint64_t start = 0;  ///< virtual address
  std::uint64_t size = 0;   ///< bytes
  bool signal_frame = false;
  std::vector<GoRow> rows;  ///< ascending, the first at 0, neighbors differ; empty: there is a gap
  std::optional<Gap> gap;
};

/// The functions of a file that Go's linker has described, with the rows that the table and their instructions give.
class Functions {
 public:
  /// The image must outlive it.
  Functions(const elf::Image& image, elf::GoTable table);

  const elf::GoTable& table() const { return table_; }
  std::size_t size() const { return table_.entries().size(); }
  /// The table says how far SP has come. The instructions must agree with it at each step, and show where the frame
  /// pointer is, as Go's compilers and assembler save it. Any thread may call it.
  GoFunction function(std::size_t index) const;

 private:
  void find_entries_of_program();

  const elf::Image& image_;
  sframe::Abi abi_;
  elf::GoTable table_;
  std::vector<std::uint64_t> entries_of_program_;  ///< where the kernel enters, and where that jumps to
};

}  // namespace sframe_gen::rows::go
