#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sframe_gen/unwind.h"
#include "sframe_gen/unwind.hpp"

/// The files that this process has loaded, as they were when somebody looked: walks may not ask the dynamic loader,
/// which takes locks.
namespace sframe_gen::unwind {

struct LoadedModule {
  std::uint64_t begin = 0, end = 0;  ///< from the first segment to the last
  std::uint64_t bias = 0;            ///< of the section's addresses
  sframe::SectionView view;          ///< not open: it has no section, or a damaged one
  bool is_damaged = false;
};

struct LoadedModules {
  std::size_t mapped_size = 0;  ///< bytes of this and what follows it
  LoadedModules* retired_before = nullptr;
  std::span<LoadedModule> modules;  ///< ascending
  std::span<RowSlot> rows;
};

/// For the length of a walk: what this gives stays until `leave_modules`. Null: nobody has looked yet.
const LoadedModules* enter_modules();
void leave_modules();

/// Looks anew; 0 or an errno.
int look_at_modules(sframe_provide provide, void* context);
void forget_modules();

/// Whether the file at `module` is still loaded, where the C library can tell without a lock: since it was looked at,
/// its bytes may have gone, and another file may have come.
bool is_still_loaded(const LoadedModule& module, std::uint64_t pc);

}  // namespace sframe_gen::unwind
