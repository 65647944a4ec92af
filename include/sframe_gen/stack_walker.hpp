#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sframe_gen/module_map.hpp"
#include "sframe_gen/unwind.hpp"
#include "sframe_gen/view.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

namespace sframe_gen::unwind {

/// Walks stacks of one process, and owns a ModuleMap and the rows that walks have found. All of it is in headers, so
/// that libsframe-unwind needs no library of C++.
///
///     StackWalker walker(read_memory, nullptr, step_by_frame_pointer);
///     walker.add(code, code + size, 0, sframe::encode(section), section.address);
///     Stop stop;
///     std::size_t count = walker.walk(registers, pcs, stop);
///
/// Several threads may walk at a time, but not while one adds or removes. Walking allocates nothing. `fallback` may
/// add and remove modules during a walk if no other thread walks. If it finds the module of the PC, it adds the module
/// and returns step(registers). If memory runs out, an operation throws std::bad_alloc and changes nothing.
class StackWalker {
 public:
  /// `read` and `fallback` get `context`. Without `fallback`, a walk ends at a PC that has no row. `signature_mask` is
  /// as in Walked.
  explicit StackWalker(ReadMemory read, void* context = nullptr, Fallback fallback = nullptr,
                       std::uint64_t signature_mask = 0)
      : rows_(row_slots) {
    walked_.read = read;
    walked_.context = context;
    walked_.fallback = fallback;
    walked_.signature_mask = signature_mask;
    walked_.rows = rows_;
    changed();
  }
  StackWalker(const StackWalker&) = delete;
  StackWalker& operator=(const StackWalker&) = delete;

  /// Adds code at [begin, end) with its section, whose bytes must stay until the module is removed, as ModuleMap::add()
  /// does. `bias` is the difference between an address of the code and that of the file, to which `section_address`
  /// belongs. Returns what is wrong with the section; no PC of the module has a row then.
  sframe::ViewFault add(std::uint64_t begin, std::uint64_t end, std::uint64_t bias, std::span<const std::byte> section,
                        std::uint64_t section_address) {
    return add(begin, end, bias, std::make_shared<const PagedSection>(section, section_address));
  }
  /// Keeps the bytes of the section itself.
  sframe::ViewFault add(std::uint64_t begin, std::uint64_t end, std::uint64_t bias, std::vector<std::byte>&& section,
                        std::uint64_t section_address) {
    return add(begin, end, bias, std::make_shared<const PagedSection>(std::move(section), section_address));
  }
  /// Shares a section, or two, of which `second` is asked where the first one has no row.
  sframe::ViewFault add(std::uint64_t begin, std::uint64_t end, std::uint64_t bias,
                        std::shared_ptr<const PagedSection> section,
                        std::shared_ptr<const PagedSection> second = nullptr) {
    const sframe::ViewFault fault = section != nullptr ? section->fault() : sframe::ViewFault{};
    modules_.add(begin, end, bias, {std::move(section), std::move(second), nullptr});
    changed();
    return fault;
  }
  /// Adds code that has no section.
  void add(std::uint64_t begin, std::uint64_t end) {
    modules_.add(begin, end);
    changed();
  }

  /// Removes the code at [begin, end), as ModuleMap::remove() does.
  void remove(std::uint64_t begin, std::uint64_t end) {
    modules_.remove(begin, end);
    changed();
  }

  std::span<const Module> modules() const noexcept { return modules_.modules(); }

  /// As Unwinder has them.
  Stop step(Registers& registers) const noexcept { return unwinder_.step(registers); }
  std::size_t walk(Registers& registers, std::span<std::uint64_t> pcs, Stop& stop) const noexcept {
    return unwinder_.walk(registers, pcs, stop);
  }

 private:
  void changed() noexcept {
    const std::uint64_t generation = modules_.generation();
    // Slots compare the low half.
    if (generation >> 32U != walked_.generation >> 32U) std::ranges::fill(rows_, RowSlot{});
    walked_.modules = modules_.modules();
    walked_.generation = generation;
    unwinder_ = Unwinder(walked_);
  }

  static constexpr std::size_t row_slots = 1024;

  ModuleMap modules_;
  std::vector<RowSlot> rows_;
  Walked walked_;
  Unwinder unwinder_{walked_};
};

}  // namespace sframe_gen::unwind

SFRAME_GEN_END_CXX
