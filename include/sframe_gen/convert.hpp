#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sframe_gen/coverage.hpp"
#include "sframe_gen/error.hpp"
#include "sframe_gen/format.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// Gives files their section. If a function fails, it throws Failure (error.hpp) and leaves every file as it was.
/// Several threads may call them, for different files.
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

/// Where the new section goes.
enum class SectionPlan : std::uint8_t {
  Replace,   ///< over the one that is there
  Gap,       ///< after a read-only PT_LOAD's last byte, before the next PT_LOAD: where ld would put it
  Head,      ///< after the program headers of TablePlan::Below
  Tail,      ///< in a PT_LOAD of its own above all others
  Reserved,  ///< where the linker script of a Linux kernel reserved room
};

/// Where the new program headers go. The table grows at the file offset where it is, but for `Moved`.
enum class TablePlan : std::uint8_t {
  Free,           ///< PT_NULL entries, or zero bytes after the table
  Notes,          ///< .interp and notes make room
  DynamicTables,  ///< .gnu.hash, .dynsym, … make room as well, and .dynamic says where they went
  Below,          ///< new pages below those of a program at fixed addresses: all that is there stays in memory
  Moved,          ///< after the section, in the PT_LOAD of SectionPlan::Tail: strip and its like break such a file
};

/// Returns the short names of docs/design.md, which reports have: "replaced", "S1", "S2", "S3", "filled".
std::string_view name_of(SectionPlan plan);
/// "T0" to "T4".
std::string_view name_of(TablePlan plan);

/// A plan that was considered for the rewrite of a linked file.
struct TriedPlan {
  SectionPlan section_plan = SectionPlan::Gap;
  TablePlan table_plan = TablePlan::Free;  ///< means nothing with SectionPlan::Reserved
  std::uint64_t gap_after = 0;             ///< of SectionPlan::Gap: the virtual address of the PT_LOAD before the gap
  bool drops_note = false;                 ///< a PT_NOTE that repeats PT_GNU_PROPERTY gives its program header away
  bool possible = false;
  bool taken = false;
  // What it does to the file, if it is possible.
  std::vector<std::string> moved;         ///< names of the sections that make room for program headers
  bool moved_to_new_segment = false;      ///< in a program at fixed addresses, the new PT_LOAD holds some of these
  bool build_id_left_first_page = false;  ///< where older kernels look for it
  std::uint64_t inserted = 0;             ///< bytes
  bool mostly_unused = false;             ///< most of the inserted bytes have no use
  // What is in the way, if it is not possible.
  bool lacks_room_for_headers = false;  ///< program headers find no room; else the section does not
  std::string obstacle;                 ///< a clause: "section .interp is in the way"
};

/// Returns the plan's short name: "S2+T1", "S1+T0 after 0x2000", "filled".
std::string name_of(const TriedPlan& plan);
/// Returns what the plan does to the file, or why it does not work, in a clause for people.
std::string outcome_of(const TriedPlan& plan);

/// Functions that are called as the work goes on. Each may be empty.
struct WorkObserver {
  std::function<void(const std::string&)> warn;  ///< about what does not stop the work: "FILE: WHAT"
  /// Gets the work done, and all of it: members of an archive, or functions that `verify_file` checks.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
  /// Gets each plan for a linked file, the cheapest first, also before Refused is thrown. Plans that would cost more
  /// than the one taken are worked out only if this is set.
  std::function<void(const TriedPlan&)> plan;
};

/// A program or library, with a section in a place that was planned.
struct LinkedOutcome {
  Coverage coverage;
  std::uint64_t section_address = 0;  ///< virtual
  std::uint64_t section_size = 0;     ///< bytes
  SectionPlan section_plan = SectionPlan::Gap;
  TablePlan table_plan = TablePlan::Free;
  std::vector<std::string> moved;         ///< names of the sections that made room for program headers
  bool build_id_left_first_page = false;  ///< where older kernels look for it
  std::int64_t growth = 0;                ///< bytes of the file
};

/// A relocatable object, whose section a linker places and merges.
struct ObjectOutcome {
  Coverage coverage;
  std::uint64_t section_size = 0;  ///< bytes
  std::int64_t growth = 0;         ///< bytes of the file
};

/// A Linux kernel, whose linker script reserved room.
struct KernelOutcome {
  Coverage coverage;
  std::uint64_t section_address = 0;  ///< virtual
  std::uint64_t section_size = 0;     ///< bytes
  std::uint64_t reserved_size = 0;    ///< bytes, of which the rest is free
};

/// A member of an archive: an object, or why it was left alone ("is not an ELF file").
struct MemberOutcome {
  std::string name;
  std::variant<ObjectOutcome, std::string> outcome;
};

struct ArchiveOutcome {
  bool is_thin = false;
  std::vector<MemberOutcome> members;
  std::int64_t growth = 0;  ///< bytes of the archive; if it is thin, of its members' files
};

using ConvertOutcome = std::variant<LinkedOutcome, ObjectOutcome, KernelOutcome, ArchiveOutcome>;

/// Gives `input` its section, as its kind asks for, and writes the result to `output`, which may be `input` itself.
/// `output` is replaced atomically and keeps mode, owner and attributes; a thin archive's members are files of their
/// own, replaced one after the other.
ConvertOutcome convert_file(const std::filesystem::path& input, const std::filesystem::path& output,
                            const ConvertOptions& options = {}, const WorkObserver& observer = {});

/// A section by itself.
struct TranslateOutcome {
  std::vector<std::byte> bytes;
  std::uint64_t address = 0;  ///< virtual: what the starts of its functions count from
  Coverage coverage;
};

/// The section of a program, library or kernel in memory, `elf`: its file's bytes, not its loaded segments. `name` is
/// for messages. `address`: where the section will be. `options` that name how a file is written do not count.
TranslateOutcome translate(std::span<const std::byte> elf, const std::string& name, std::uint64_t address,
                           const ConvertOptions& options = {});

/// What a section by itself looks like.
enum class EmitForm : std::uint8_t {
  Section,   ///< its bytes; not for objects, where they mean nothing without relocations
  Assembly,  ///< text for an assembler; of an object, to append to the object's own source
};

/// Where the address of a section by itself is from.
enum class AddressOrigin : std::uint8_t {
  None,     ///< it has none: an object's
  Given,    ///< the caller
  Section,  ///< the section that the file has
  Plan,     ///< where a conversion would put it
};

struct EmitOutcome {
  Coverage coverage;
  std::uint64_t section_address = 0;  ///< virtual
  AddressOrigin address_from = AddressOrigin::None;
  std::uint64_t section_size = 0;  ///< bytes
  std::string contents;            ///< bytes, or text
};

/// The section that `input` would get at `address`; the default is where the file has one, or a conversion would put
/// it.
EmitOutcome emit_section(const std::filesystem::path& input, EmitForm form, const ConvertOptions& options = {},
                         std::optional<std::uint64_t> address = {}, const WorkObserver& observer = {});

struct RemoveOptions {
  bool dry_run = false;  ///< do everything but replace files
  /// If the original cannot be restored, or has a section as well, take out this section, the program header that leads
  /// to it, and the undo record. All other bytes keep their addresses.
  bool section_only = false;
};

/// What remove_section() has done.
struct RemoveOutcome {
  /// What the file is afterwards.
  enum class Left : std::uint8_t {
    Original,             ///< as it was before its conversion
    OriginalWithSection,  ///< the same; it had a section even then, which has no undo record
    EarlierConversion,    ///< as it was before its last conversion: changed since an earlier one, whose section it has
    WithoutSection,       ///< not restored, but without the section, as `section_only` asks
  };
  std::string section;
  std::uint64_t converted_size = 0, original_size = 0;  ///< bytes of the file, before and after
  Left left = Left::Original;
};

/// Restores the file that was converted, byte for byte, or throws Refused. With `section_only`, it may take out the
/// section alone; it always does so to objects and to members of archives.
RemoveOutcome remove_section(const std::filesystem::path& input, const std::filesystem::path& output,
                             const RemoveOptions& options = {});

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
