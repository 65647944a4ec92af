#pragma once

#include <cstddef>

#include "sframe_gen/view.hpp"

namespace sframe_gen::unwind {

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
