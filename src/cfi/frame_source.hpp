#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "cfi/frame_index.hpp"
#include "cfi/interpreter.hpp"
#include "cfi/rules.hpp"
#include "elf/image.hpp"
#include "elf/object/relocations.hpp"
#include "sframe_gen/reasons.hpp"
#include "support/range.hpp"

namespace sframe_gen::cfi {

/// Functions that are described otherwise than by CFI, and better: what CFI says of their PCs does not count.
class OtherFunctions {
 public:
  OtherFunctions() = default;
  virtual ~OtherFunctions() = default;
  OtherFunctions(const OtherFunctions&) = delete;
  OtherFunctions& operator=(const OtherFunctions&) = delete;

  /// The code of each, at most 4 GiB; ascending, disjoint, and none is empty.
  virtual const std::vector<Range>& ranges() const = 0;
  /// What the function of a range is made from.
  virtual RowSource source_of(std::size_t index) const = 0;
  /// Works out the function of a range. Any thread may call it. `rules` get its rules.
  virtual void read(std::size_t index, Function& function, RuleTable& rules) const = 0;
};

/// What functions come from: the CFI in .eh_frame and .debug_frame, of the file itself or of its separate debug file,
/// and OtherFunctions (Go's, and those that proofs make).
class FrameSource {
 public:
  /// Reads the CFI of `cfi_image` about the code of `image` (often the same file), which is for a machine that
  /// SFrame knows. Throws MalformedInput, or Refused for another one.
  /// `others`, if there are some, are functions of `image` that win over its CFI.
  FrameSource(const elf::Image& image, const elf::Image& cfi_image,
              std::shared_ptr<const OtherFunctions> others = nullptr);

  /// Whether there is any FDE at all, or a function of others.
  bool empty() const;
  /// FDEs that count: about as many as functions.
  std::size_t size() const { return fdes_.size(); }

  /// A run of functions, for work in parallel.
  struct Part {
    std::size_t begin, end;
  };
  /// At most `count` parts, ascending, that together hold every function; fewer where there are few.
  std::vector<Part> parts(std::size_t count) const;
  /// Where the first function of a part begins, which has one.
  std::uint64_t start_of(const Part& part) const { return fdes_[part.begin].start; }

  /// How an object's relocation names a function that an FDE describes, and where that FDE is: its place orders
  /// functions as the sections do.
  struct FdeRelocation {
    elf::object::CodeReference reference;  ///< of the last FDE that starts here or before; the rest goes to the addend
    std::uint32_t table = 0;               ///< which section
    friend bool operator<(const FdeRelocation& a, const FdeRelocation& b) {
      return std::tie(a.table, a.reference.field_offset, a.reference.address) <
             std::tie(b.table, b.reference.field_offset, b.reference.address);
    }
  };
  /// Returns the reference to a function of an object that starts at `address`. An FDE must describe it.
  FdeRelocation reference_to(std::uint64_t address) const;

  /// The PCs that FDEs or others describe.
  RangeSet described() const;

  /// PCs that one FDE counts for, or one of the others.
  struct Record {
    Range pcs;
    RowSource source = RowSource::EhFrame;
  };
  /// By ascending start. Only FDEs of one section overlap.
  std::vector<Record> records() const;

  /// Without duplicates, which only for_each_function finds.
  const DroppedFdes& dropped() const { return dropped_; }

  /// Null: there are none.
  const OtherFunctions* others() const { return others_.get(); }
  /// How many FDEs only describe PCs of others.
  std::uint64_t replaced_by_others() const { return replaced_by_others_; }

 private:
  /// PCs for which one FDE counts: all of its own, or a part. They are at most 4 GiB, so that 32 bits count them in all
  /// that comes after.
  struct FdePiece {
    std::uint64_t start, end;
    std::uint32_t table, fde;
  };

  static constexpr std::uint32_t other_table = UINT32_MAX;

  std::size_t load(const elf::Image& source);
  void keep_fdes_of_code();
  std::size_t bytes_of_instructions(const FdePiece& ref) const;
  const elf::object::CodeReference* reference_of(std::uint32_t table, std::uint32_t fde) const;
  bool is_relocated(std::uint32_t table, std::uint32_t fde) const;
  static void sort_by_start(std::span<FdePiece> fdes);
  std::uint64_t drop_shadowed(std::size_t first_fdes);
  void take_others();
  void drop_those_of_go();
  friend class FrameReader;

  const elf::Image& image_;
  const TrackedRegisters& tracked_;
  std::optional<elf::SectionsByAddress> sections_;  ///< of an object
  std::vector<std::vector<std::byte>> decompressed_;
  std::vector<FrameTable> tables_;
  std::vector<std::vector<elf::object::CodeReference>>
      references_;              ///< of each table; empty where it is not an object's
  std::vector<FdePiece> fdes_;  ///< those of others name `other_table`
  std::shared_ptr<const OtherFunctions> others_;
  std::uint64_t replaced_by_others_ = 0;
  DroppedFdes dropped_;
};

/// Merges functions of which each overlaps another, sorted by start: rows they agree on stand, in normal form; PCs they
/// disagree on, be it on whether they are a signal frame or on the signing key, get UnknownReason::ConflictingFdes.
/// Gives one function from the lowest start to the highest end, at most 4 GiB, or several, one after the other, where
/// these marks change. Time is linear in the rows, but for sorting.
std::vector<Function> merge_overlapping(std::span<const Function> functions, RuleTable& rules);

/// Returns the part of the function in [begin, end), which is not empty and lies in it.
Function part_of(const Function& function, std::uint64_t begin, std::uint64_t end);

/// Works out the functions of a source, in one thread.
class FrameReader {
 public:
  /// Both must outlive the reader; `rules` get the functions' rules.
  FrameReader(const FrameSource& source, RuleTable& rules);

  /// Calls back with each function of the part, by ascending start, PCs never overlapping. Returns how many FDEs were
  /// duplicates of another. Throws MalformedInput.
  ///
  /// An FDE of .debug_frame counts only for PCs that no FDE of .eh_frame describes. Where FDEs of one section overlap,
  /// the rows they agree on stand; PCs they disagree on get UnknownReason::ConflictingFdes, as no reader of the file
  /// could know which is right.
  std::uint64_t for_each_function(const FrameSource::Part& part, const std::function<void(const Function&)>& callback);

 private:
  void read(const FrameSource::FdePiece& ref, Function& function);
  std::optional<std::vector<Function>> distinct(std::span<const FrameSource::FdePiece> fdes, std::uint64_t end);

  const FrameSource& source_;
  RuleTable& rules_;
  std::vector<CfiInterpreter> interpreters_;  ///< of each table
};

}  // namespace sframe_gen::cfi
