#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sframe_gen/unwind.h"
#include "sframe_gen/unwind.hpp"
#include "sframe_gen/view.hpp"
#include "unwind/file_in_memory.hpp"
#include "unwind/stack_memory.hpp"

/// The files that this process has loaded, as they were when somebody looked: walks may not ask the dynamic loader,
/// which takes locks.
namespace sframe_gen::unwind {

struct PageTable;

/// A section that speaks of a module.
struct ModuleSection {
  sframe::SectionView view;  ///< not open: there is none, or a damaged one
  std::uint64_t bias = 0;    ///< an address of the module minus the one that the view knows
  PageTable* table = nullptr;
  bool is_damaged = false;
};

struct LoadedModule {
  // What each walk looks at, beside each other.
  std::uint64_t begin = 0, end = 0;  ///< from the first segment to the last
  bool is_permanent = false;         ///< it is never unloaded
  std::uint64_t bias = 0;            ///< of its addresses
  ModuleSection own;
  ModuleSection provided;  ///< says what `own` does not
  FileIdentity identity;
  bool was_asked_for = false;  ///< whoever provides sections was
};

struct LoadedModules {
  std::size_t mapped_size = 0;  ///< bytes of this and what follows it
  LoadedModules* retired_before = nullptr;
  std::span<LoadedModule> modules;  ///< ascending
  std::span<RowSlot> rows;
  Range main_stack;
};

/// For the length of a walk: what this gives stays until `leave_modules`. None, if nobody has looked yet.
const LoadedModules& enter_modules();
void leave_modules();

/// Looks anew, if anything has changed; 0 or an errno.
int look_at_modules(sframe_provide provide, void* context, unsigned flags);
void forget_modules();

/// The module that holds `pc`, if it was loaded since anybody looked and the C library can tell where it is. Of its
/// section the header alone is believed, as there is no time for more.
bool open_unseen(std::uint64_t pc, LoadedModule& module);

/// Memory of a view's page table, shared by the lists of modules that have the view. Counted by whoever holds the lock
/// that lists are made and freed under.
struct PageTable {
  std::size_t mapped_size = 0;  ///< bytes
  std::size_t users = 0;
};

/// Gives `view` a table, if one is of use and there is memory for it: 16 bytes for each 1,024 of code, at most 4 MiB.
/// Null: look-ups go without.
PageTable* make_page_table(sframe::SectionView& view);

void add_user(PageTable* table);
/// The last one frees it.
void drop_user(PageTable* table);

}  // namespace sframe_gen::unwind
