#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "rows.h"

namespace judge {

/// Bytes that are read in order, within their bounds.
class Cursor {
 public:
  Cursor(const std::uint8_t* begin, const std::uint8_t* end) : at_(begin), end_(end) {}

  template <typename Number>
  Number take() {
    Number number{};
    std::memcpy(&number, skip(sizeof number), sizeof number);
    return number;
  }
  std::uint64_t unsigned_leb();
  std::int64_t signed_leb();
  /// An integer of so many bytes.
  std::uint64_t unsigned_of(std::size_t size);
  std::int64_t signed_of(std::size_t size);
  std::string_view string();
  /// Returns where the skipped bytes begin.
  const std::uint8_t* skip(std::uint64_t size) {
    if (size > static_cast<std::uint64_t>(end_ - at_)) throw std::runtime_error("data ends early");
    const std::uint8_t* const begin = at_;
    at_ += size;
    return begin;
  }
  /// The next bytes, which are skipped, as a cursor of their own.
  Cursor part(std::uint64_t size) {
    const std::uint8_t* const begin = skip(size);
    return {begin, begin + size};
  }

  const std::uint8_t* at() const { return at_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  bool is_at_end() const { return at_ == end_; }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

/// A 64-bit ELF file of x86-64, mapped.
class ElfFile {
 public:
  struct Part {
    std::uint64_t address = 0;
    const std::uint8_t* bytes = nullptr;
    std::size_t size = 0;

    Cursor cursor() const { return {bytes, bytes + size}; }
  };

  explicit ElfFile(const std::string& path);
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;
  ~ElfFile();

  /// By its section header.
  std::optional<Part> section(std::string_view name) const;
  /// The first program header of this type.
  std::optional<Part> segment(std::uint32_t type) const;
  /// Its PT_LOADs.
  std::vector<Segment> loads() const;

 private:
  Part part_at(std::uint64_t offset, std::uint64_t size, std::uint64_t address) const;
  template <typename Header>
  std::vector<Header> headers(std::uint64_t offset, std::uint64_t count) const;

  const std::uint8_t* bytes_ = nullptr;
  std::size_t size_ = 0;
  Elf64_Ehdr header_{};
};

/// The rows of a file, and where its code is.
struct FileRows {
  std::vector<Segment> segments;
  std::vector<Row> rows;  ///< ascending

  void write(const std::string& path) const;
  static FileRows read(const std::string& path);
  std::uint64_t bytes() const;
};

/// Sorts rows, and makes those end that reach into the next one. Returns how many did.
std::size_t put_in_order(std::vector<Row>& rows);

/// By the .sframe section, of version 1, 2 or 3.
FileRows rows_of_sframe(const ElfFile& file);
/// By .eh_frame. `count`: of its FDEs.
FileRows rows_of_cfi(const ElfFile& file, std::size_t& count);

}  // namespace judge
