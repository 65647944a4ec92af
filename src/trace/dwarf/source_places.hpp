#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/image.hpp"

namespace sframe_gen::trace::dwarf {

/// A function, or an inlined call of one, and the place in its source code that is executed.
struct SourceFrame {
  std::string_view function;  ///< the linkage name if there is one, not demangled; empty: it has no name
  std::string_view around;    ///< the function that a lambda or a class is in, whose name goes before; empty: none
  std::string_view file;      ///< the path as debugging information has it; empty: unknown
  std::uint32_t line = 0;     ///< 0: unknown
  bool is_inlined = false;
};

/// The functions, inlined calls and lines that a file's debugging information (DWARF 2 to 5) has for its addresses.
/// What a compilation unit says is read once, when the first of its addresses is asked for.
class SourcePlaces {
 public:
  /// Opens a file that the debugging information names. None: it cannot be had.
  using OpenSplit = std::function<std::optional<elf::Image>(const std::string& path)>;

  /// `file`: has the debugging information; it must outlive this. `alternate`: the file of its .gnu_debugaltlink, or
  /// null. `open_split`: asked for the files that have split units, by absolute paths; null: these are not read.
  SourcePlaces(const elf::Image& file, const elf::Image* alternate, OpenSplit open_split);
  ~SourcePlaces();
  SourcePlaces(const SourcePlaces&) = delete;
  SourcePlaces& operator=(const SourcePlaces&) = delete;

  /// Returns whether a file has any debugging information of functions.
  static bool has_any(const elf::Image& file);
  /// Returns the path and build-id that .gnu_debugaltlink names. Empty path: it has none.
  struct Alternate {
    std::string path;
    std::string build_id;  ///< in hexadecimal digits
  };
  static Alternate alternate_of(const elf::Image& file);

  /// Returns what is executed at an address of the file, the innermost inlined call first and the function last.
  /// Empty: no debugging information has the address. Valid until the next call; the texts until this is gone.
  const std::vector<SourceFrame>& at(std::uint64_t address);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sframe_gen::trace::dwarf
