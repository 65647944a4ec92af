#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "elf/image.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"
#include "trace/dwarf/source_places.hpp"
#include "trace/walk/address_cache.hpp"
#include "trace/walk/demangle.hpp"

namespace sframe_gen::trace::walk {

/// Files that .gnu_debugaltlink leads to and that are not here, with one of the files that need each.
using MissingAlternates = std::map<std::string, std::string>;

/// What is wanted of debugging information.
struct SourceOptions {
  bool inlines = false;                             ///< calls that compilers have inlined
  bool lines = false;                               ///< places in source code
  MissingAlternates* missing_alternates = nullptr;  ///< takes them; null: nothing does

  bool are_wanted() const { return inlines || lines; }
};

/// A place in source code, fit to be printed.
struct SourceLine {
  std::string_view file;   ///< empty: unknown
  std::uint32_t line = 0;  ///< 0: unknown
};

/// A call that a compiler has inlined.
struct InlinedCall {
  std::string_view function;  ///< demangled, fit to be printed; empty: it has no name
  std::string_view symbol;    ///< that the name was made of; empty: of none, or of a very long one
  SourceLine place;           ///< of what is executed in it
};

/// What is executed at an address.
struct SourceChain {
  std::vector<InlinedCall> inlined;  ///< the innermost first
  SourceLine place;                  ///< in the function itself, or in what is executed if no inlined calls are wanted
};

/// Inlined calls and source lines of a file, by its debugging information.
class SourceNames {
 public:
  /// `debug`: has the information, `alternate` what it refers to, or null. Both must outlive this.
  SourceNames(const elf::Image& debug, const elf::Image* alternate, const SourceOptions& options,
              dwarf::SourcePlaces::OpenSplit open_split);

  /// Returns what is executed at an address of the file. Valid until the next call; its texts until this is gone.
  const SourceChain& at(std::uint64_t address);

 private:
  SourceChain look_up(std::uint64_t address);
  SourceLine line_of(const dwarf::SourceFrame& frame);
  const Demangled& name_of(const dwarf::SourceFrame& frame);

  const SourceOptions& options_;
  dwarf::SourcePlaces places_;
  AddressCache<SourceChain> asked_;
  SeededMap<std::string, Demangled> functions_;
  SeededMap<std::string, std::string> files_;  ///< as they are printed
  NameBudget budget_;
};

}  // namespace sframe_gen::trace::walk
