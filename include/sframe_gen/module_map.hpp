#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sframe_gen/unwind.hpp"
#include "sframe_gen/view.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

namespace sframe_gen::unwind {

/// A section with its page table. Modules that are parts of one file share it, in one program or in many.
class PagedSection {
 public:
  /// `bytes` must outlive the section. `address` is as in SectionView::open().
  PagedSection(std::span<const std::byte> bytes, std::uint64_t address) { open(bytes, address); }
  /// Keeps the bytes itself.
  PagedSection(std::vector<std::byte>&& bytes, std::uint64_t address) : bytes_(std::move(bytes)) {
    open(bytes_, address);
  }
  PagedSection(const PagedSection&) = delete;
  PagedSection& operator=(const PagedSection&) = delete;

  /// Returns what is wrong with the section; no PC has a row then.
  const sframe::ViewFault& fault() const noexcept { return fault_; }
  const sframe::SectionView& view() const noexcept { return view_; }

 private:
  void open(std::span<const std::byte> bytes, std::uint64_t address) {
    fault_ = view_.open(bytes, address);
    pages_.resize(view_.page_slots());
    view_.use_pages(pages_);
  }

  std::vector<std::byte> bytes_;
  std::vector<sframe::PageSlot> pages_;
  sframe::SectionView view_;
  sframe::ViewFault fault_;
};

/// What a ModuleMap keeps for a module. The parts of a module that was cut share it.
struct ModuleContents {
  std::shared_ptr<const PagedSection> section;  ///< null: none
  std::shared_ptr<const PagedSection> second;   ///< is asked where `section` has no row; null: none
  std::shared_ptr<const void> data;             ///< the caller's own
};

/// The modules of one program, their sections and page tables. If memory runs out, an operation throws std::bad_alloc
/// and leaves everything as it was, and pointers to modules valid. No operation throws anything else.
class ModuleMap {
 public:
  ModuleMap() noexcept = default;
  ModuleMap(const ModuleMap&) = default;  ///< the copy has a generation of its own
  ModuleMap(ModuleMap&& other) noexcept { swap(other); }
  ModuleMap& operator=(ModuleMap other) noexcept {
    swap(other);
    return *this;
  }
  ~ModuleMap() = default;

  /// Adds code at [begin, end); an empty range changes nothing. Modules that have some of these addresses lose them, as
  /// if a file was mapped there, and keep what is before and after. `bias` is the difference between an address of the
  /// code and that of the file, to which both sections belong.
  void add(std::uint64_t begin, std::uint64_t end, std::uint64_t bias = 0, ModuleContents contents = {}) {
    if (begin >= end) return;
    Piece added{{begin, end, bias, view_of(contents.section), view_of(contents.second)},
                std::make_shared<const ModuleContents>(std::move(contents))};
    replace(begin, end, &added);
  }

  /// Takes [begin, end) out of all modules: what they have before and after remains.
  void remove(std::uint64_t begin, std::uint64_t end) {
    const std::size_t first = first_that_ends_after(begin);
    if (begin < end && first < modules_.size() && modules_[first].begin < end) replace(begin, end, nullptr);
  }

  /// Returns the modules, which ascend.
  std::span<const Module> modules() const noexcept { return modules_; }

  /// Returns the module that holds `pc`, or null.
  const Module* find(std::uint64_t pc) const noexcept {
    const std::size_t place = first_that_ends_after(pc);
    return place < modules_.size() && modules_[place].begin <= pc ? &modules_[place] : nullptr;
  }

  /// Returns what was given for `module`, which is one of modules().
  const ModuleContents& contents_of(const Module& module) const noexcept {
    return *contents_[static_cast<std::size_t>(&module - modules_.data())];
  }

  /// Returns a number for Walked, which is never 0. No other map of this process has it, and each change gives this map
  /// another one.
  std::uint64_t generation() const noexcept { return generation_.number; }

 private:
  struct Generation {
    std::uint64_t number = next();
    Generation() noexcept = default;
    Generation(const Generation& /*other*/) noexcept {}
    Generation& operator=(const Generation& /*other*/) noexcept {
      number = next();
      return *this;
    }
    ~Generation() = default;

    static std::uint64_t next() noexcept {
      static std::atomic<std::uint64_t> last = 0;
      return last.fetch_add(1, std::memory_order_relaxed) + 1;
    }
  };
  using Contents = std::shared_ptr<const ModuleContents>;
  struct Piece {
    Module module;
    Contents contents;
  };

  static const sframe::SectionView* view_of(const std::shared_ptr<const PagedSection>& section) noexcept {
    return section != nullptr ? &section->view() : nullptr;
  }

  void swap(ModuleMap& other) noexcept {
    modules_.swap(other.modules_);
    contents_.swap(other.contents_);
    generation_ = {};
    other.generation_ = {};
  }

  std::size_t first_that_ends_after(std::uint64_t address) const noexcept {
    const auto found =
        std::ranges::partition_point(modules_, [address](const Module& module) { return module.end <= address; });
    return static_cast<std::size_t>(found - modules_.begin());
  }

  /// Makes room for two modules more. What needs memory happens before what changes anything.
  void make_room() {
    const std::size_t needed = modules_.size() + 2;
    if (needed <= modules_.capacity() && needed <= contents_.capacity()) return;
    std::vector<Module> modules;
    std::vector<Contents> contents;
    modules.reserve(2 * needed);
    contents.reserve(2 * needed);
    modules.assign(modules_.begin(), modules_.end());
    std::ranges::move(contents_, std::back_inserter(contents));
    modules_.swap(modules);
    contents_.swap(contents);
  }

  /// Puts `added`, if it is not null, in the place of what modules have in [begin, end).
  void replace(std::uint64_t begin, std::uint64_t end, Piece* added) {
    make_room();
    const std::size_t first = first_that_ends_after(begin);
    std::size_t last = first;
    while (last < modules_.size() && modules_[last].begin < end) ++last;
    Module pieces[3];
    Contents contents[3];
    std::size_t count = 0;
    if (first != last && modules_[first].begin < begin) {
      pieces[count] = modules_[first];
      pieces[count].end = begin;
      contents[count++] = contents_[first];
    }
    if (added != nullptr) {
      pieces[count] = added->module;
      contents[count++] = std::move(added->contents);
    }
    if (first != last && modules_[last - 1].end > end) {
      pieces[count] = modules_[last - 1];
      pieces[count].begin = end;
      contents[count++] = contents_[last - 1];
    }
    splice(modules_, first, last, std::span(pieces, count));
    splice(contents_, first, last, std::span(contents, count));
    generation_ = {};
  }

  /// Puts `pieces` in the place of [first, last). There is room for them.
  template <typename T>
  static void splice(std::vector<T>& list, std::size_t first, std::size_t last, std::span<T> pieces) noexcept {
    const auto at = [&list](std::size_t place) { return list.begin() + static_cast<std::ptrdiff_t>(place); };
    list.erase(at(first), at(last));
    list.insert(at(first), std::move_iterator(pieces.begin()), std::move_iterator(pieces.end()));
  }

  std::vector<Module> modules_;  ///< ascending; no two overlap
  std::vector<Contents> contents_;
  Generation generation_;
};

}  // namespace sframe_gen::unwind

SFRAME_GEN_END_CXX
