#include "convert/convert_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/archive.hpp"
#include "cfi/frame_source.hpp"
#include "convert/convert_archive.hpp"
#include "convert/convert_object.hpp"
#include "convert/coverage.hpp"
#include "convert/debug_file.hpp"
#include "convert/encode_functions.hpp"
#include "convert/go_functions.hpp"
#include "convert/reencode.hpp"
#include "elf/kernel_image.hpp"
#include "elf/machine.hpp"
#include "elf/preconditions.hpp"
#include "readers/survey.hpp"
#include "rewrite/plan/layout.hpp"
#include "rewrite/plan/removal.hpp"
#include "rewrite/undo/undo.hpp"
#include "rewrite/write/rewrite.hpp"
#include "sframe_gen/convert.hpp"
#include "support/endian.hpp"
#include "support/mapped_file.hpp"
#include "support/text.hpp"

namespace sframe_gen::convert {

namespace {

template <std::size_t Size>
struct FirstBytes {
  std::array<char, Size> bytes{};  ///< zeros where the file has fewer
  std::size_t count = 0;           ///< how many it has; 0: it cannot be read, too
};

/// A stream would read 8 KB, and take some of its own.
template <std::size_t Size>
FirstBytes<Size> first_bytes(const std::filesystem::path& file, std::error_code& error) {
  FirstBytes<Size> first;
  // Reading from a FIFO would take bytes out of it.
  if (!std::filesystem::is_regular_file(file, error)) return first;
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened.is_open()) {
    error.assign(errno, std::system_category());
    return first;
  }
  ssize_t count = 0;
  do count = ::pread(opened.number(), first.bytes.data(), Size, 0);
  while (count < 0 && errno == EINTR);
  if (count < 0) error.assign(errno, std::system_category());
  if (count > 0) first.count = static_cast<std::size_t>(count);
  return first;
}

std::array<char, archive::regular_magic.size()> magic_of(const std::filesystem::path& file, std::error_code& error) {
  return first_bytes<archive::regular_magic.size()>(file, error).bytes;
}

}  // namespace

FileKind kind_of(const std::filesystem::path& file) {
  std::error_code ignored;
  return kind_of(file, ignored);
}

FileKind kind_of(const std::filesystem::path& file, std::error_code& error) {
  const auto magic = magic_of(file, error);
  if (std::string_view(magic.data(), SELFMAG) == std::string_view(ELFMAG, SELFMAG)) return FileKind::Elf;
  return archive::is_archive(std::as_bytes(std::span(magic))) ? FileKind::Archive : FileKind::Other;
}

bool is_thin_archive(const std::filesystem::path& file) {
  std::error_code ignored;
  const auto magic = magic_of(file, ignored);
  return std::string_view(magic.data(), magic.size()) == archive::thin_magic;
}

std::optional<std::uint16_t> type_of(const std::filesystem::path& file) {
  std::error_code ignored;
  const auto header = first_bytes<sizeof(Elf64_Ehdr)>(file, ignored);
  const bool is_narrow = header.bytes[EI_CLASS] == ELFCLASS32;
  if (header.count < (is_narrow ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr))) return {};
  const Endian endian = header.bytes[EI_DATA] == ELFDATA2MSB ? Endian::Big : Endian::Little;
  // ELF32 and ELF64 have it in the same place.
  static_assert(offsetof(Elf32_Ehdr, e_type) == offsetof(Elf64_Ehdr, e_type));
  return load<Elf64_Half>(std::as_bytes(std::span(header.bytes)).subspan(offsetof(Elf64_Ehdr, e_type)), endian);
}

bool is_kernel_module(const std::filesystem::path& file) try {
  const elf::Image image = elf::Image::open(file);
  return image.is_object() && image.find_section(".modinfo") != nullptr;
} catch (const Failure&) {
  return false;
}

namespace {

/// Returns the moves of program headers that the caller allows.
elf::HeaderMoves header_moves(const ConvertOptions& options) {
  return options.move_headers ? elf::HeaderMoves::IfNeeded : elf::HeaderMoves::Never;
}

/// elf::plan_layout, of which the observer hears.
elf::Layout plan_layout(const elf::Image& image, std::uint64_t section_size, const elf::NewSection& added,
                        elf::HeaderMoves moves, const WorkObserver& observer) {
  if (!observer.plan) return elf::plan_layout(image, section_size, added, moves);
  std::vector<TriedPlan> tried;
  const auto tell = [&] {
    for (const TriedPlan& plan : tried) observer.plan(plan);
  };
  try {
    elf::Layout layout = elf::plan_layout(image, section_size, added, moves, &tried);
    tell();
    return layout;
  } catch (const Refused&) {
    tell();
    throw;
  }
}

/// Without a value: `bytes` fit.
std::optional<std::string> obstacle(const elf::Section* reserved, std::string_view name, std::uint64_t bytes) {
  if (reserved != nullptr && reserved->header.sh_size >= bytes) return {};
  const std::string room = reserved == nullptr ? "no room" : "only " + count_of(reserved->header.sh_size, "byte");
  return "Linux kernel, which finds its " + std::string(name) + " by its linker script, and has " + room +
         " for one: reserve " + count_of(bytes, "byte") + " in a section " + std::string(name) +
         " there, or use --emit=section";
}

/// Fills the room that the linker script of a Linux kernel (elf/kernel_image.hpp) has reserved for the section, and
/// changes nothing else. Throws Failure, which says how much room it takes if there is too little; `output` is then
/// as it was.
KernelOutcome convert_kernel(const elf::Image& kernel, const std::filesystem::path& output,
                             const ConvertOptions& options, const WorkObserver& observer) {
  elf::machine_of(kernel);
  elf::check_not_signed(kernel);
  const elf::NewSection& added = section_for(options.format);
  const elf::Section* const reserved = elf::find_reserved(kernel, added);
  const emit::Dialect dialect = dialect_for(kernel, options.format);
  std::optional<Reencoding> existing;
  if (options.from_section) existing.emplace(kernel);
  const auto debug = open_debug_file(kernel, options);
  EncodedFunctions encoded =
      existing ? existing->encode(dialect)
               : encode_functions_of(kernel, debug ? *debug : kernel, {}, dialect, options.count_code);
  const std::uint64_t size = encoded.encoder.encoded_size();
  const auto why_not = obstacle(reserved, added.name, size);
  if (observer.plan) {
    TriedPlan plan;
    plan.section_plan = SectionPlan::Reserved;
    plan.possible = plan.taken = !why_not;
    plan.obstacle = why_not.value_or("");
    observer.plan(plan);
  }
  if (why_not) throw Refused(kernel.name(), *why_not);
  const std::vector<std::byte> bytes = encode_at(reserved->header.sh_addr, encoded.encoder, kernel.name());
  if (existing) existing->check(bytes, reserved->header.sh_addr, family_of(options.format));
  // What can fail comes before the file is replaced.
  KernelOutcome filled{std::move(encoded.coverage), reserved->header.sh_addr, size, reserved->header.sh_size};
  name_holes(filled.coverage, kernel);
  if (!options.dry_run) elf::fill_section(kernel, *reserved, bytes, output);
  return filled;
}

/// Kernels that validate .sframe register it for each executable segment and want every function inside that one.
void warn_of_executable_segments(const elf::Image& image, const WorkObserver& observer) {
  if (!observer.warn) return;
  const auto executable = [](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
  };
  const auto count = std::count_if(image.segments().begin(), image.segments().end(), executable);
  if (count > 1)
    observer.warn(image.name() + ": has " + std::to_string(count) +
                  " executable segments; a kernel that validates .sframe may reject it");
  if (const auto number = readers::executable_header(image))
    observer.warn(image.name() + ": program header " + std::to_string(*number + 1) +
                  " is executable, but not a PT_LOAD; Linux treats it as code, and then does not use .sframe");
  if (const auto number = readers::code_with_bss(image))
    observer.warn(image.name() + ": executable segment of program header " + std::to_string(*number + 1) +
                  " goes on after its bytes in the file (.bss); Linux does not use .sframe for such code");
}

void warn_of_moved_headers(const elf::Image& image, const elf::Layout& layout, const WorkObserver& observer) {
  if (layout.header.e_phoff == image.header().e_phoff || !observer.warn) return;
  observer.warn(image.name() +
                ": its program headers move to the end of the file; strip, objcopy and their like break such a file");
}

/// What `opened` has been made from is lost, but for its code.
void warn_of_earlier_conversion(const elf::Image& opened, const elf::NewSection& added, const WorkObserver& observer) {
  if (!observer.warn || opened.find_section(added.name) == nullptr || opened.find_section(added.undo_name) == nullptr)
    return;
  observer.warn(opened.name() + ": modified since an earlier conversion (by strip?); its " + std::string(added.name) +
                " is replaced" + (added.keeps_undo_record ? ", and --remove will bring that back" : ""));
}

LinkedOutcome outcome_of(Coverage coverage, const elf::Layout& layout) {
  LinkedOutcome linked;
  linked.coverage = std::move(coverage);
  linked.section_address = layout.section_address;
  linked.section_size = layout.section_size;
  linked.section_plan = layout.section_plan;
  linked.table_plan = layout.table_plan;
  linked.moved = layout.moved_sections;
  linked.build_id_left_first_page = layout.build_id_left_first_page;
  return linked;
}

/// The whole way of a program or library: read, encode, place, write. What `opened` was made from by an earlier
/// conversion is converted again. Throws Failure; `output` is then as it was.
LinkedOutcome convert_linked(const elf::Image& opened, const std::filesystem::path& output,
                             const ConvertOptions& options, const WorkObserver& observer) {
  elf::NewSection added = section_for(options.format);
  added.keeps_undo_record = options.keep_undo_record;
  // A converted file is undone first, so that a second run, or one of another version, adds nothing to the
  // first, and both can be undone alike.
  const auto original = elf::find_original(opened, added, output.parent_path());
  const elf::Image& image = original ? *original : opened;
  elf::check_preconditions(image);
  std::optional<Reencoding> existing;
  if (options.from_section) existing.emplace(opened);
  const auto debug = open_debug_file(image, options);
  const emit::Dialect dialect = dialect_for(image, options.format);
  std::optional<elf::Rewrite> rewrite;
  if (!options.dry_run) rewrite.emplace(image, opened, output, options.keep_undo_record);
  EncodedFunctions encoded = existing ? existing->encode(dialect)
                                      : encode_functions_of(image, debug ? *debug : image, stubs_for(image, options),
                                                            dialect, options.count_code);

  drop_pages(image.file());  // call frame information
  if (!original) warn_of_earlier_conversion(opened, added, observer);
  warn_of_executable_segments(image, observer);
  // What may be was decided when the file was converted first.
  const bool have_moved = original && opened.header().e_phoff != original->header().e_phoff;
  const elf::HeaderMoves moves = have_moved ? elf::HeaderMoves::IfNeeded : header_moves(options);
  const elf::Layout layout = plan_layout(image, encoded.encoder.encoded_size(), added, moves, observer);
  drop_pages(image.file());  // relocations
  warn_of_moved_headers(image, layout, observer);
  if (rewrite) rewrite->place(layout);
  // Function starts are stored relative to the section: its place comes before its bytes.
  BytePieces bytes = take_encoded(layout.section_address, encoded.encoder, image.name());
  if (existing) existing->check(joined(bytes), layout.section_address, family_of(options.format));
  // What can fail comes before the file is replaced.
  LinkedOutcome linked = outcome_of(std::move(encoded.coverage), layout);
  name_holes(linked.coverage, image);
  const std::uint64_t size =
      rewrite ? rewrite->finish(std::move(bytes)) : elf::rewritten_size(image, layout, std::move(bytes));
  linked.growth = static_cast<std::int64_t>(size - opened.file_bytes().size());
  return linked;
}

}  // namespace

}  // namespace sframe_gen::convert

namespace sframe_gen {

ConvertOutcome convert_file(const std::filesystem::path& input, const std::filesystem::path& output,
                            const ConvertOptions& options, const WorkObserver& observer) {
  if (convert::kind_of(input) == convert::FileKind::Archive)
    return convert::convert_archive(input, output, options, observer);
  const elf::Image image = elf::Image::open(input);
  if (image.is_object()) return convert::convert_object_file(image, output, options);
  if (elf::is_kernel(image)) return convert::convert_kernel(image, output, options, observer);
  return convert::convert_linked(image, output, options, observer);
}

namespace {

/// A file may have both sections; the one added last has to go first.
const elf::NewSection& last_added(const elf::Image& image) {
  const auto has = [&](std::string_view name) { return image.find_section(name) != nullptr; };
  const bool is_last = !image.sections().empty() && image.sections().back().name == elf::ctf_frame_section.undo_name;
  const bool is_alone = has(elf::ctf_frame_section.name) && !has(elf::sframe_section.name);
  return is_last || is_alone ? elf::ctf_frame_section : elf::sframe_section;
}

RemoveOutcome::Left left_of(const elf::Original& original) {
  return !original.has_section    ? RemoveOutcome::Left::Original
         : original.was_converted ? RemoveOutcome::Left::EarlierConversion
                                  : RemoveOutcome::Left::OriginalWithSection;
}

std::uint64_t take_out(const elf::Image& image, const elf::Image& opened, const elf::NewSection& section,
                       const std::filesystem::path& output, bool dry_run) {
  if (elf::is_kernel(image))
    throw Refused(image.name(),
                  "Linux kernel, whose linker script reserves " + std::string(section.name) + "; link it without");
  return dry_run ? elf::plan_removal(image, section).file_size
                 : elf::write_without_section(image, opened, section, output);
}

}  // namespace

namespace convert {

namespace {

bool has_converted_member(const std::filesystem::path& archive) {
  bool found = false;
  for_each_converted(
      archive, [&](const std::string&, const elf::Image&) { found = true; }, [](const std::string&, const Failure&) {});
  return found;
}

bool has_original(const elf::Image& image, const elf::NewSection& added) try {
  elf::describe_original(image, added);
  return true;
} catch (const Failure&) {
  return false;
}

}  // namespace

bool has_section_for_good(const std::filesystem::path& file) try {
  if (kind_of(file) == FileKind::Archive) return has_converted_member(file);
  const elf::Image image = elf::Image::open(file);
  return has_stack_trace_section(image) && (image.is_object() || !has_original(image, last_added(image)));
} catch (const Failure&) {
  return false;
}

}  // namespace convert

RemoveOutcome remove_section(const std::filesystem::path& input, const std::filesystem::path& output,
                             const RemoveOptions& options) {
  if (convert::kind_of(input) == convert::FileKind::Archive)
    throw Refused(input.string(), "--remove does not support archives");
  const elf::Image image = elf::Image::open(input);
  if (image.is_object() && convert::has_stack_trace_section(image))
    throw Refused(image.name(), "--remove does not support relocatable objects; compile it again");
  const elf::NewSection& added = last_added(image);
  RemoveOutcome removed{std::string(added.name), image.file_bytes().size()};
  if (options.section_only) {
    const auto original = elf::find_original(image, added, output.parent_path());
    if (!original || original->find_section(added.name) != nullptr) {
      removed.original_size = take_out(original ? *original : image, image, added, output, options.dry_run);
      removed.left = RemoveOutcome::Left::WithoutSection;
      return removed;
    }
  }
  const elf::Original original =
      options.dry_run ? elf::describe_original(image, added) : elf::write_original(image, added, output);
  removed.original_size = original.size;
  removed.left = left_of(original);
  return removed;
}

}  // namespace sframe_gen
