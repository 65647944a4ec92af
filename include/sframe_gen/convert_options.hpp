#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "sframe_gen/format.hpp"
#include "sframe_gen/layout_plans.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// What is asked of the functions of convert.hpp.
namespace sframe_gen {

/// What is read, and what is written.
struct ConvertOptions {
  OutputFormat format;
  std::optional<std::filesystem::path> debug_file;  ///< its .debug_frame is read as well; not for archives
  /// Take the rows of the section that the file has, instead of its call frame information.
  bool from_section = false;
  bool ignore_build_id = false;  ///< take `debug_file` even if its build-id differs or is missing
  bool drop_signature = false;   ///< remove a kernel module's signature, which would be wrong
  /// Where a linked file has no room for more program headers, move them to its end. Tools that rewrite such a file
  /// (strip, objcopy, dwz, patchelf) break it, and Linux before 6.12 does not find its build-id.
  bool move_headers = false;
  bool keep_undo_record = true;  ///< in linked files, store an undo record for remove_section(): some 350 bytes
  bool stubs = true;             ///< in linked files, make rows of PLT stubs from their instructions
  bool dry_run = false;          ///< do everything but replace files
  bool count_code = false;       ///< fill Coverage::code: which code no CFI describes
  /// In linked files for x86-64, leave out rows that the instructions contradict (Unrepresentable::ContradictedByCode).
  /// Requires Zydis (code_check.hpp), and memory for the rows of all functions at once. Other files are refused.
  bool omit_disproved = false;
  /// In linked files for x86-64, make rows for code without call frame information (CFI), where a proof of the
  /// instructions says what they are. The same requirements.
  bool synthesize = false;
  /// Refuse functions with a jump table that no comparison bounds: neither omit_disproved nor synthesize counts them.
  /// Else the contents of such a table say where it ends.
  bool bounded_tables_only = false;
};

/// What a section by itself looks like.
enum class EmitForm : std::uint8_t {
  Section,   ///< its bytes; not for objects, where they mean nothing without relocations
  Assembly,  ///< text for an assembler; of an object, to append to the object's own source
};

/// What remove_section() is to do.
struct RemoveOptions {
  bool dry_run = false;  ///< do everything but replace files
  /// If the original cannot be restored, or has a section as well, take out this section, the program header that leads
  /// to it, and the undo record. All other bytes keep their addresses.
  bool section_only = false;
};

/// Functions that are called as the work goes on. Each may be empty.
struct WorkObserver {
  std::function<void(const std::string&)> warn;  ///< about what does not stop the work: "FILE: WHAT"
  /// Gets the work done, and all of it: members of an archive, or functions that `verify_file` checks.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
  /// Gets each plan for a linked file, the cheapest first, also before Refused is thrown. Plans that would cost more
  /// than the one taken are worked out only if this is set.
  std::function<void(const TriedPlan&)> plan;
};

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
