#include "trace/walk/address_space.hpp"

#include <elf.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "support/text.hpp"
#include "trace/walk/demangle.hpp"

namespace sframe_gen::trace::walk {

namespace {

/// Real files have one or two. Each of a recording's mappings takes room for as many.
constexpr std::size_t most_pieces = 16;

/// PT_LOADs with any of these rights' bits that the mapping holds a part of, as they follow each other in the file.
std::vector<Elf64_Phdr> segments_in(const Mapping& mapping, const elf::Image& image, std::uint32_t rights) {
  const std::uint64_t begin = mapping.file_offset, end = begin + (mapping.end - mapping.begin);
  std::vector<Elf64_Phdr> found;
  std::ranges::copy_if(image.segments(), std::back_inserter(found), [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & rights) == rights && segment.p_offset < end &&
           segment.p_offset + segment.p_filesz > begin;
  });
  std::ranges::stable_sort(found, {}, &Elf64_Phdr::p_offset);
  return found;
}

}  // namespace

bool Mapping::is_of_no_file() const {
  // Of the kernel's own, [vdso] and [vsyscall] are code.
  if (!path.starts_with('/')) return !path.starts_with("[v");
  return path.starts_with("//") || path.starts_with("/memfd:") || path.starts_with("/dev/zero") ||
         path.starts_with("/SYSV") || path.starts_with("/anon_hugepage");
}

std::vector<MappedPiece> pieces_of(const Mapping& mapping, const elf::Image& image) {
  std::vector<Elf64_Phdr> segments = segments_in(mapping, image, PF_X);
  if (segments.empty()) segments = segments_in(mapping, image, 0);
  std::vector<MappedPiece> pieces;
  for (const Elf64_Phdr& segment : segments) {
    const std::uint64_t bias = mapping.begin - (segment.p_vaddr - segment.p_offset + mapping.file_offset);
    if (!pieces.empty() && pieces.back().bias == bias) continue;
    // The first one has what is in front of it, too, and each what is after it.
    const std::uint64_t begin =
        pieces.empty() ? mapping.begin : mapping.begin + (segment.p_offset - mapping.file_offset);
    if (!pieces.empty() && (segment.p_offset <= mapping.file_offset || begin == pieces.back().begin)) continue;
    if (!pieces.empty()) pieces.back().end = begin;
    pieces.push_back({begin, mapping.end, bias});
  }
  return pieces.size() <= most_pieces ? pieces : std::vector<MappedPiece>();
}

/// What a module is a part of.
struct AddressSpace::Mapped {
  Mapping mapping;  ///< until its file was opened, or of no file; as it was mapped, whatever is left of it
  const Location* location = nullptr;          ///< from then on
  std::optional<std::size_t> jit_placement{};  ///< which part of a program's own code it is; none: it is not known

  bool is_of_no_file() const { return location == nullptr ? mapping.is_of_no_file() : location->is_of_no_file(); }
};

AddressSpace::AddressSpace(const std::vector<Mapping>& executable, OpenFile open_file,
                           std::shared_ptr<Locations> locations)
    : open_file_(std::move(open_file)), locations_(std::move(locations)) {
  for (const Mapping& mapping : executable) add(mapping);
}

void AddressSpace::add(const Mapping& mapping) {
  modules_.add(mapping.begin, mapping.end, 0, {nullptr, nullptr, std::make_shared<const Mapped>(Mapped{mapping})});
}

const AddressSpace::Mapped& AddressSpace::mapped_in(const unwind::ModuleContents& contents) {
  return *static_cast<const Mapped*>(contents.data.get());
}

/// Puts the pieces of a module, each with its location, in its place.
void AddressSpace::open(const unwind::Module& module) {
  Mapping mapping = mapped_in(modules_.contents_of(module)).mapping;
  mapping.file_offset += module.begin - mapping.begin;
  mapping.begin = module.begin;
  mapping.end = module.end;
  OpenedFile opened = open_file_(mapping);
  std::vector<MappedPiece> pieces;
  if (opened.file) pieces = pieces_of(mapping, opened.file->image());
  if (opened.file && pieces.empty()) opened = {nullptr, "not the file that was mapped"};
  if (pieces.empty()) pieces = {{mapping.begin, mapping.end, mapping.begin - mapping.file_offset}};
  const auto of = std::make_shared<const LocatedFile>(
      LocatedFile{shortened(printable(mapping.path), longest_name), std::move(opened), mapping.is_of_no_file()});
  for (const MappedPiece& piece : pieces) {
    const Location& location = locations_->emplace_back(Location{of, piece.bias});
    modules_.add(piece.begin, piece.end, piece.bias,
                 {nullptr, nullptr,
                  std::make_shared<const Mapped>(Mapped{mapping.is_of_no_file() ? mapping : Mapping(), &location})});
  }
}

/// Returns the module that holds `pc`, its file opened.
const unwind::Module* AddressSpace::opened_at(std::uint64_t pc) {
  const unwind::Module* module = modules_.find(pc);
  if (module != nullptr && jit_code_) module = with_jit_code(pc, *module);
  if (module == nullptr || mapped_in(modules_.contents_of(*module)).location != nullptr) return module;
  open(*module);
  return modules_.find(pc);
}

/// Returns the module that holds `pc` when it shows which of the program's own code is there now.
const unwind::Module* AddressSpace::with_jit_code(std::uint64_t pc, const unwind::Module& module) {
  constexpr std::size_t most_parts = 4096;
  const unwind::ModuleContents contents = modules_.contents_of(module);
  const Mapped& mapped = mapped_in(contents);
  if (!mapped.is_of_no_file()) return &module;
  const auto part = jit_code_->part_at(pc);
  const auto placement = part ? std::optional(part->placement) : std::nullopt;
  if (placement == mapped.jit_placement) return &module;
  if (!part) {
    modules_.add(module.begin, module.end, 0,
                 {nullptr, nullptr, std::make_shared<const Mapped>(Mapped{mapped.mapping})});
    return modules_.find(pc);
  }
  const std::uint64_t bias = part->begin - jit_code_address;
  if (!jit_file_)
    jit_file_ = std::make_shared<const LocatedFile>(LocatedFile{printable(jit_code_->name()), {}, true, jit_code_});
  const Location& location = locations_->emplace_back(Location{jit_file_, bias, jit_code_->function_of(*part)});
  modules_.add(std::max(module.begin, part->begin), std::min(module.end, part->end), bias,
               {nullptr, nullptr, std::make_shared<const Mapped>(Mapped{mapped.mapping, &location, placement})});
  // To add one takes as long as there are many.
  if (++jit_parts_ % most_parts == 0) forget_jit_code();
  return modules_.find(pc);
}

/// Makes one module again of those that were a mapping of no file.
void AddressSpace::forget_jit_code() {
  struct Run {
    std::uint64_t begin, end;
    Mapping mapping;
  };
  std::vector<Run> runs;
  for (const unwind::Module& module : modules_.modules()) {
    const Mapped& mapped = mapped_in(modules_.contents_of(module));
    if (!mapped.is_of_no_file()) continue;
    if (!runs.empty() && runs.back().end == module.begin && runs.back().mapping.begin == mapped.mapping.begin) {
      runs.back().end = module.end;
    } else {
      runs.push_back({module.begin, module.end, mapped.mapping});
    }
  }
  for (Run& run : runs)
    modules_.add(run.begin, run.end, 0,
                 {nullptr, nullptr, std::make_shared<const Mapped>(Mapped{std::move(run.mapping)})});
}

const Location* AddressSpace::location_of(std::uint64_t pc) {
  const unwind::Module* const module = opened_at(pc);
  return module == nullptr ? nullptr : mapped_in(modules_.contents_of(*module)).location;
}

bool AddressSpace::find_rows(std::uint64_t pc) {
  const unwind::Module* const module = opened_at(pc);
  if (module == nullptr) return false;
  unwind::ModuleContents contents = modules_.contents_of(*module);
  const Location& location = *mapped_in(contents).location;
  // Such a function's file is made again each time that many others came between.
  if (contents.second != nullptr || (location.of->jit_code && !location.of->jit_code->has_unwinding(location.function)))
    return false;
  const std::shared_ptr<CodeFile> file = location.file();
  if (file == nullptr) return false;
  const bool is_first = contents.section == nullptr;
  const CodeFile::Rows& found = is_first ? file->rows() : file->more_rows();
  if (found == nullptr || found == contents.section) return false;
  (is_first ? contents.section : contents.second) = found;
  modules_.add(module->begin, module->end, module->bias, std::move(contents));
  return true;
}

void AddressSpace::find_all_rows() {
  for (std::size_t i = 0; i < modules_.modules().size(); ++i) {
    const unwind::Module& module = modules_.modules()[i];
    if (module.view == nullptr) find_rows(module.begin);
  }
}

}  // namespace sframe_gen::trace::walk
