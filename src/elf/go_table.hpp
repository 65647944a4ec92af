#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/format.hpp"

/// The function table that Go's linker writes, .gopclntab, and what it says of unwinding. The layout is that of Go's
/// sources: internal/abi/symtab.go, runtime/symtab.go (pcHeader, moduledata, step) and runtime/runtime2.go (_func).
namespace sframe_gen::elf {

/// Whether Go's linker has made the file, by the names of its sections.
bool has_sections_of_go(const Image& image);

/// The table of one file, of Go 1.18 and later.
class GoTable {
 public:
  /// A function of the table that has a record of its stack depths. Functions of C, which the linker may list as well,
  /// have none.
  struct Entry {
    std::uint64_t start = 0;   ///< virtual address
    std::uint64_t end = 0;     ///< where the next function begins: padding may come before
    std::uint32_t depths = 0;  ///< offset in the table of PC values
    std::uint32_t name = 0;    ///< offset in the table of names
    std::uint8_t flags = 0;
    bool is_outermost() const { return (flags & 1U) != 0; }     ///< TOPFRAME: no caller is to be found
    bool switches_stacks() const { return (flags & 2U) != 0; }  ///< SPWRITE: moves SP by more than a constant
  };

  /// From an offset on, up to the next one's: bytes between SP and its value at the function's entry.
  struct Depth {
    std::uint32_t begin = 0;  ///< bytes from the function's start
    std::int64_t bytes = 0;
    friend bool operator==(const Depth&, const Depth&) = default;
  };

  struct Depths {
    std::vector<Depth> steps;  ///< ascending, the first at 0
    std::uint32_t end = 0;     ///< bytes from the function's start: where the last one ends
  };

  static constexpr std::size_t longest_name = 4096;  ///< a table that lies may have names of any size

  /// Finds the table and checks it. Nothing, if the file has none: each number must fit, every record must begin with
  /// its function's start, all functions must be code, and Go's own description of the module (moduledata) must lead to
  /// the table and tell the same. So bytes that only look like a table are none.
  static std::optional<GoTable> find(const Image& image);

  /// Ascending. Where all functions begin that the table names, those without a record as well.
  const std::vector<std::uint64_t>& starts() const { return starts_; }
  /// Ascending and disjoint.
  std::span<const Entry> entries() const { return entries_; }
  /// Where the function's code ends by its depths, or by the next function if they are damaged.
  std::uint64_t end_of_code(const Entry& entry) const;
  /// The function that has the address, in its code or in the padding after that; null: none.
  const Entry* entry_around(std::uint64_t address) const;
  /// The function whose code has the address; null: none. Takes a walk over the function's depths.
  const Entry* entry_at(std::uint64_t address) const;
  /// No more than the first `most` bytes; empty where the name is not in the file. Valid as long as the image.
  std::string_view name_of(const Entry& entry, std::size_t most = longest_name) const;
  /// Nothing where the record is damaged: it has no end, depths that cannot be, or steps beyond the function.
  std::optional<Depths> depths_of(const Entry& entry) const;
  /// Bytes of the file that the functions and their depths are in.
  std::uint64_t size() const { return size_; }

 private:
  struct Header;
  static std::optional<GoTable> read(const Image& image, std::uint64_t address, sframe::Abi abi);
  bool read_entries(const Image& image, const Header& header, std::uint64_t text);

  std::vector<std::uint64_t> starts_;
  std::vector<Entry> entries_;
  std::span<const std::byte> names_, values_;
  std::uint64_t size_ = 0;
  std::uint8_t quantum_ = 1;
};

}  // namespace sframe_gen::elf
