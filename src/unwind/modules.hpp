#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sframe_gen/unwind.h"
#include "sframe_gen/unwind.hpp"
#include "sframe_gen/view.hpp"
#include "unwind/file_in_memory.hpp"
#include "unwind/stack_memory.hpp"

/// The files that this process has loaded, as they were when the list was made, and the code that its program has made
/// itself: walks may not ask the dynamic loader, which takes locks.
namespace sframe_gen::unwind {

struct SharedMemory;

/// A section that describes a module. The view knows the file's own addresses.
struct ModuleSection {
  sframe::SectionView view;       ///< not open: there is none, or a damaged one
  SharedMemory* pages = nullptr;  ///< of the view
  SharedMemory* copy = nullptr;   ///< of the section; null: the bytes are another's
  bool is_damaged = false;
};

struct LoadedModule {
  // What each walk reads comes first, in one cache line.
  std::uint64_t begin = 0, end = 0;  ///< from the first segment to the last
  bool is_permanent = false;         ///< it is never unloaded
  std::uint64_t bias = 0;            ///< of its addresses
  ModuleSection own;
  ModuleSection provided;  ///< says what `own` does not
  LoadedFileIdentity identity;
  bool was_asked_for = false;  ///< for `provided`
  bool is_added = false;       ///< by add_code(): it is no file, and `own` has the addresses of memory

  bool contains(std::uint64_t pc) const { return pc - begin < end - begin; }
};

struct LoadedModules {
  std::size_t mapped_size = 0;  ///< bytes of this and what follows it
  LoadedModules* retired_before = nullptr;
  unsigned drained = 0;             ///< bit n: no walk of turn n has it any more, since it was retired
  std::span<LoadedModule> modules;  ///< ascending
  std::span<RowSlot> rows;          ///< of these modules alone: what another list's walks found is not in them
  Range main_stack;
  bool are_all = false;  ///< walks open no other files
};

/// Who is asked for sections: one of the two, or none of them.
struct Provider {
  sframe_unwind_provide provide = nullptr;
  sframe_unwind_provide_file provide_file = nullptr;
  void* context = nullptr;
  bool is_there() const { return provide != nullptr || provide_file != nullptr; }
  friend bool operator==(const Provider&, const Provider&) = default;
};

/// Begins a walk: the list stays until `leave_modules` gets the same `turn`. It is empty before the first look.
const LoadedModules& enter_modules(unsigned& turn);
void leave_modules(unsigned turn);

/// Makes a new list if anything has changed. Returns 0 or an errno.
int look_at_modules(const Provider& provider, unsigned flags);
void forget_modules();

/// Makes a list with the code and a copy of its section, opened for `address`. Returns 0, EINVAL, EEXIST or ENOMEM.
int add_code(Range code, std::span<const std::byte> section, std::uint64_t address);
/// Makes a list without the added code that begins there. Returns 0, ENOENT or ENOMEM.
int remove_code(std::uint64_t begin);

/// Opens the module that holds `pc`, if it was loaded since the last look and the C library can tell where it is. Only
/// the header of its section is checked, as there is no time for more.
bool open_unlisted(std::uint64_t pc, LoadedModule& module);

}  // namespace sframe_gen::unwind
