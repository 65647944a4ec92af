#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "elf/image.hpp"
#include "rewrite/plan/existing_sframe.hpp"
#include "sframe_gen/layout_plans.hpp"

namespace sframe_gen::rewrite {

/// Whether the program headers may leave their place where no other plan works.
enum class HeaderMoves : std::uint8_t { Never, IfNeeded };

/// A combination of plans to try.
struct LayoutPlan {
  SectionPlan section = SectionPlan::Gap;
  TablePlan table = TablePlan::Free;
  std::size_t load = 0;         ///< SectionPlan::Gap: which PT_LOAD grows
  std::uint32_t load_rank = 0;  ///< of the PT_LOADs that could, 0 is the best
  bool drops_note = false;      ///< a PT_NOTE that says what PT_GNU_PROPERTY says gives its program header away
};

/// What a plan costs those who use the file, the worst first: compared in this order.
struct Cost {
  /// strip, objcopy and their like break the file, and old kernels no longer see its build-id.
  bool moves_table = false;
  bool waste = false;       ///< the file grows by a MiB and more that has no use
  bool in_tail = false;     ///< program at fixed addresses with .interp or notes above .bss: old patchelf may break it
  bool below = false;       ///< new pages below the program's own
  bool build_id = false;    ///< leaves the first page, where Linux before 6.12 looks for it
  bool tables = false;      ///< of the dynamic linker move
  bool drops_note = false;  ///< readers of notes by program headers no longer find the properties
  SectionPlan section = SectionPlan::Replace;
  std::uint32_t load_rank = 0;
  bool notes = false;        ///< .interp or notes move
  std::uint64_t growth = 0;  ///< bytes inserted into the file

  // clang-tidy 14 takes the zero that a rewritten comparison compares with for a pointer.
  friend auto operator<=>(const Cost&, const Cost&) = default;  // NOLINT(modernize-use-nullptr)
};

/// A PT_NOTE that covers what PT_GNU_PROPERTY covers. On x86-64 glibc reads the latter since 2.32 and before that
/// either, and the kernel neither. On AArch64 both read the latter only, which says whether code wants branch target
/// checks. On s390x nothing reads either.
std::optional<std::size_t> redundant_note(const elf::Image& image);

/// What `plan` costs at least.
Cost least_cost(const LayoutPlan& plan);

/// All that may be tried, in the order of their least cost.
std::vector<LayoutPlan> plans_for(const elf::Image& image, const ExistingSframe& existing, HeaderMoves moves);

}  // namespace sframe_gen::rewrite
