#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sframe_gen/coverage.hpp"
#include "sframe_gen/layout_plans.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// What the functions of convert.hpp have done.
namespace sframe_gen {

/// A program or library, with a section in a place that was planned.
struct LinkedOutcome {
  Coverage coverage;
  std::uint64_t section_address = 0;  ///< virtual
  std::uint64_t section_size = 0;     ///< bytes
  SectionPlan section_plan = SectionPlan::Gap;
  TablePlan table_plan = TablePlan::Free;
  std::vector<std::string> moved;         ///< names of the sections that made room for program headers
  bool build_id_left_first_page = false;  ///< where older kernels look for it
  std::int64_t growth = 0;                ///< bytes of the file
};

/// A relocatable object, whose section a linker places and merges.
struct ObjectOutcome {
  Coverage coverage;
  std::uint64_t section_size = 0;  ///< bytes
  std::int64_t growth = 0;         ///< bytes of the file
};

/// A Linux kernel, whose linker script reserved room.
struct KernelOutcome {
  Coverage coverage;
  std::uint64_t section_address = 0;  ///< virtual
  std::uint64_t section_size = 0;     ///< bytes
  std::uint64_t reserved_size = 0;    ///< bytes, of which the rest is free
};

/// A member of an archive: an object, or why it was left alone ("is not an ELF file").
struct MemberOutcome {
  std::string name;
  std::variant<ObjectOutcome, std::string> outcome;
};

struct ArchiveOutcome {
  bool is_thin = false;
  std::vector<MemberOutcome> members;
  std::int64_t growth = 0;  ///< bytes of the archive; if it is thin, of its members' files
};

using ConvertOutcome = std::variant<LinkedOutcome, ObjectOutcome, KernelOutcome, ArchiveOutcome>;

/// A section by itself.
struct TranslateOutcome {
  std::vector<std::byte> bytes;
  std::uint64_t address = 0;  ///< virtual: what the starts of its functions count from
  Coverage coverage;
};

/// Where the address of a section by itself is from.
enum class AddressOrigin : std::uint8_t {
  None,     ///< it has none: an object's
  Given,    ///< the caller
  Section,  ///< the section that the file has
  Plan,     ///< where a conversion would put it
};

struct EmitOutcome {
  Coverage coverage;
  std::uint64_t section_address = 0;  ///< virtual
  AddressOrigin address_from = AddressOrigin::None;
  std::uint64_t section_size = 0;  ///< bytes
  std::string contents;            ///< bytes, or text
};

/// What remove_section() has done.
struct RemoveOutcome {
  /// What the file is afterwards.
  enum class Left : std::uint8_t {
    Original,             ///< as it was before its conversion
    OriginalWithSection,  ///< the same; it had a section even then, which has no undo record
    EarlierConversion,    ///< as it was before its last conversion: changed since an earlier one, whose section it has
    WithoutSection,       ///< not restored, but without the section, as `section_only` asks
  };
  std::string section;
  std::uint64_t converted_size = 0, original_size = 0;  ///< bytes of the file, before and after
  Left left = Left::Original;
};

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
