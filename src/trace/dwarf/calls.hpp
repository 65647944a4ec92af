#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trace/dwarf/debug_sections.hpp"

namespace sframe_gen::trace::dwarf {

/// Addresses that have an owner: a unit, or a call.
struct OwnedRange {
  std::uint64_t begin = 0, end = 0;
  std::uint32_t owner = 0;
};

/// Which owner has an address, if ranges overlap the one with the highest number.
class FlatRanges {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  FlatRanges() = default;
  explicit FlatRanges(std::vector<OwnedRange> ranges);

  /// `none`: no range has the address.
  std::uint32_t owner_at(std::uint64_t address) const;

 private:
  struct Part {
    std::uint64_t begin;
    std::uint32_t owner;
  };
  std::vector<Part> parts_;  ///< ascending; each up to where the next begins
};

/// A function with code, or a call of one that was inlined.
struct Call {
  static constexpr std::uint32_t none = FlatRanges::none;

  std::uint64_t entry = 0;      ///< its offset in .debug_info
  std::uint32_t parent = none;  ///< the call or function that it is inlined into
  std::uint32_t call_file = 0, call_line = 0;
  bool is_inlined = false;
  bool has_name = false;  ///< the name is known, or it has none
  std::string_view name;
};

/// The functions and inlined calls of a unit, by their addresses.
class Calls {
 public:
  /// Goes through all entries of the unit. Throws MalformedInput.
  explicit Calls(const Unit& unit);

  /// The innermost one that has an address; null where none has.
  Call* innermost_at(std::uint64_t address);
  Call* parent_of(const Call& call) { return call.parent == Call::none ? nullptr : &calls_[call.parent]; }
  std::string_view name_of(Call& call);
  /// The function that has the call's own one in it, as a lambda or a member of a class of its own; by its linkage name
  /// if it has one. Empty: no function has. `call` was asked for its name, which goes on after this one.
  std::string_view around(const Call& call) const;
  /// Copies all names, so that the unit's file may be closed.
  void keep_names();

 private:
  struct Open;
  class Walk;

  /// Of a function: the class that it is a member of, and the function that has the class.
  struct InClass {
    std::uint64_t class_entry = 0, function = 0;
  };

  void name_by_class(Call& call, const InClass& place);
  std::string class_name(const InClass& place);
  std::string_view keep(std::string text) { return *kept_names_.emplace(std::move(text)).first; }

  const Unit* unit_;
  std::vector<Call> calls_;
  FlatRanges by_address_;
  std::unordered_set<std::string> kept_names_;
  std::unordered_map<std::uint64_t, InClass> in_classes_;                  ///< by the function's entry
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> classes_;  ///< by the entry of their function
  std::unordered_map<std::uint64_t, std::string> class_names_;             ///< by the class's entry
  std::unordered_map<std::uint64_t, std::string_view> around_;             ///< by the call's entry
};

}  // namespace sframe_gen::trace::dwarf
