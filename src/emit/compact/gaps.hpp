#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/format.hpp"

namespace sframe_gen::emit::compact {

/// What stands between functions: whether one descriptor may reach over it.
class Gaps {
 public:
  Gaps() = default;
  virtual ~Gaps() = default;
  Gaps(const Gaps&) = delete;
  Gaps& operator=(const Gaps&) = delete;

  /// Whether [begin, end), which no function has, is padding of the code that holds the byte before it and the one
  /// behind it. A place without bytes is, if it is inside of code.
  virtual bool is_filled(std::uint64_t begin, std::uint64_t end) const = 0;
  /// One that begins there will be asked for soon.
  virtual void expect(std::uint64_t /*begin*/) const {}
  /// All have been asked for.
  virtual void let_go() const {}
};

/// Those of a file. Sections of linked code that stand one behind the other in a segment (.init, .plt, .text, .fini)
/// are one: their addresses do not change any more.
class CodeGaps final : public Gaps {
 public:
  CodeGaps(const elf::Image& image, sframe::Abi abi);
  bool is_filled(std::uint64_t begin, std::uint64_t end) const override;
  void expect(std::uint64_t begin) const override;
  void let_go() const override;

 private:
  struct Code {
    std::uint64_t begin, end;  ///< virtual addresses
    std::span<const std::byte> bytes;
  };
  struct Loaded;
  void add_sections(const elf::Image& image);
  void add_segments(const elf::Image& image);
  static std::size_t segment_of(const elf::Image& image, const elf::Section& section);
  /// Where the byte before the address is, or null.
  const Code* code_before(std::uint64_t address) const;

  const MappedFile* file_;  ///< null for bytes in memory
  std::vector<Code> code_;  ///< ascending
  sframe::Abi abi_;
  /// In an object, zeros may be what a relocation fills in.
  bool zeros_are_filler_;
};

}  // namespace sframe_gen::emit::compact
