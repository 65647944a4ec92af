#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sframe_gen/unwind.hpp"
#include "sframe_gen/view.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

namespace sframe_gen::unwind {

/// Walks stacks of one process, and owns what that takes: the list of modules, their sections and page tables, and the
/// rows that walks have found. Adding and removing modules clears what no longer holds. All of it is in this header, so
/// that libsframe-unwind needs no library of C++.
///
///     StackWalker walker(read_memory, nullptr, step_by_frame_pointer);
///     walker.add(code, code + size, 0, sframe::encode(section), section.address);
///     Stop stop;
///     std::size_t count = walker.walk(registers, pcs, stop);
///
/// Several threads may walk at a time, but not while one adds or removes. Walking allocates nothing.
class StackWalker {
 public:
  /// `read` and `fallback` get `context`. Without `fallback`, a walk ends at a PC that has no row. `signature_mask` is
  /// as in Walked.
  explicit StackWalker(ReadMemory read, void* context = nullptr, Fallback fallback = nullptr,
                       std::uint64_t signature_mask = 0) {
    walked_.read = read;
    walked_.context = context;
    walked_.fallback = fallback;
    walked_.signature_mask = signature_mask;
    changed();
  }
  StackWalker(const StackWalker&) = delete;
  StackWalker& operator=(const StackWalker&) = delete;

  /// Adds code at [begin, end) with its section, whose bytes must stay until the module is removed. Modules that it
  /// overlaps are removed, as mapping a file removes what was there. `bias` is the difference between an address of the
  /// code and that of the file, to which `section_address` belongs. Returns what is wrong with the section; no PC
  /// of the module has a row then.
  sframe::ViewFault add(std::uint64_t begin, std::uint64_t end, std::uint64_t bias, std::span<const std::byte> section,
                        std::uint64_t section_address) {
    return add(begin, end, bias, section, {}, section_address);
  }
  /// Keeps the bytes of the section itself.
  sframe::ViewFault add(std::uint64_t begin, std::uint64_t end, std::uint64_t bias, std::vector<std::byte>&& section,
                        std::uint64_t section_address) {
    const std::span<const std::byte> bytes = section;
    return add(begin, end, bias, bytes, std::move(section), section_address);
  }
  /// Adds code that has no section.
  void add(std::uint64_t begin, std::uint64_t end) {
    remove(begin, end);
    insert({begin, end, 0, nullptr}, nullptr);
  }

  /// Removes the modules that have code in [begin, end).
  void remove(std::uint64_t begin, std::uint64_t end) {
    for (std::size_t i = modules_.size(); i-- != 0;) {
      if (modules_[i].begin >= end || modules_[i].end <= begin) continue;
      modules_.erase(modules_.begin() + static_cast<std::ptrdiff_t>(i));
      sections_.erase(sections_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    changed();
  }

  std::span<const Module> modules() const noexcept { return modules_; }

  /// As Unwinder has them.
  Stop step(Registers& registers) const noexcept { return unwinder_.step(registers); }
  std::size_t walk(Registers& registers, std::span<std::uint64_t> pcs, Stop& stop) const noexcept {
    return unwinder_.walk(registers, pcs, stop);
  }

 private:
  struct Section {
    std::vector<std::byte> bytes;
    sframe::SectionView view;
    std::vector<sframe::PageSlot> pages;
  };

  sframe::ViewFault add(std::uint64_t begin, std::uint64_t end, std::uint64_t bias, std::span<const std::byte> bytes,
                        std::vector<std::byte> kept, std::uint64_t section_address) {
    remove(begin, end);
    auto section = std::make_unique<Section>();
    section->bytes = std::move(kept);
    const sframe::ViewFault fault = section->view.open(bytes, section_address);
    section->pages.resize(section->view.page_slots());
    section->view.use_pages(section->pages);
    const sframe::SectionView* const view = &section->view;
    insert({begin, end, bias, view}, std::move(section));
    return fault;
  }

  /// Modules ascend.
  void insert(const Module& module, std::unique_ptr<Section> section) {
    std::size_t place = 0;
    while (place < modules_.size() && modules_[place].begin < module.begin) ++place;
    modules_.insert(modules_.begin() + static_cast<std::ptrdiff_t>(place), module);
    sections_.insert(sections_.begin() + static_cast<std::ptrdiff_t>(place), std::move(section));
    changed();
  }

  void changed() {
    rows_.assign(row_slots, RowSlot{});
    walked_.modules = modules_;
    walked_.rows = rows_;
    unwinder_ = Unwinder(walked_);
  }

  static constexpr std::size_t row_slots = 1024;

  std::vector<Module> modules_;
  std::vector<std::unique_ptr<Section>> sections_;  ///< by module; null: it has none
  std::vector<RowSlot> rows_;
  Walked walked_;
  Unwinder unwinder_{walked_};
};

}  // namespace sframe_gen::unwind

SFRAME_GEN_END_CXX
