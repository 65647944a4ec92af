#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cfi/frame_source.hpp"
#include "emit/select.hpp"

namespace sframe_gen::cli {

/// PCs of one function that no row covers, for people.
struct NamedHole {
  emit::Hole hole;       ///< PCs count from the section's start where one is named
  std::string function;  ///< empty: no symbol says
  std::string section;   ///< of an object, whose code has no addresses yet; else empty
};

/// What became of one file: coverage, every reason, and where the section went. Numbers only; report_text.hpp and
/// report_json.hpp turn it into output.
class Report {
 public:
  struct ReasonCount {
    std::uint64_t functions = 0;
    std::uint64_t bytes = 0;
  };

  void add(const cfi::FunctionFrames& frames, const emit::Selected& selected);
  /// Adds the coverage of functions that come after this one's.
  void append(const Report& other);

  std::string file, output;
  std::string format, abi;  ///< "SFrame version 3", "AMD64"
  std::uint64_t functions = 0, whole = 0, in_part = 0, left_out = 0;
  std::uint64_t described_bytes = 0;  ///< of code, by FDEs
  std::uint64_t covered_bytes = 0;    ///< of code, by rows
  std::array<ReasonCount, emit::unrepresentable_count> reasons{};
  std::vector<NamedHole> holes;
  cfi::DroppedEntries dropped;

  std::uint64_t default_descriptors = 0, flexible_descriptors = 0, mask_descriptors = 0, rows = 0;
  std::uint64_t section_address = 0, section_size = 0;
  std::string section_plan, table_plan;
  std::vector<std::string> evicted;
  std::int64_t growth = 0;  ///< bytes of the file
  bool build_id_moved = false;
  std::uint64_t reserved_size = 0;  ///< bytes of the section that was filled, of which some are free; 0: none was
  bool is_object = false;           ///< no addresses and no plans then
  /// With --emit, where the section's address is from: "option", "section" (the one that the file has), or "plan" (of a
  /// conversion); "none" for an object. Empty: the file was converted.
  std::string address_from;
};

/// A section that was taken out again.
struct Removal {
  std::string file, output, section;
  std::uint64_t converted_size = 0, original_size = 0;  ///< bytes of the file
};

}  // namespace sframe_gen::cli
