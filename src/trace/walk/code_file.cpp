#include "trace/walk/code_file.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "elf/machine.hpp"
#include "elf/notes.hpp"
#include "sframe/format.hpp"
#include "support/text.hpp"
#include "trace/walk/code_patterns.hpp"
#include "trace/walk/demangle.hpp"
#include "trace/walk/made_rows.hpp"
#include "trace/walk/symbol_files.hpp"

namespace sframe_gen::trace::walk {

CodeFile::CodeFile(elf::Image image, std::vector<std::byte> storage, const TranslationOptions& options,
                   const FileRoot& root, uid_t user)
    : storage_(std::move(storage)), image_(std::move(image)), options_(options), root_(root), user_(user) {}

void CodeFile::open_own_section() {
  own_was_tried_ = true;
  const elf::Section* const section = image_.find_section(".sframe");
  if (section == nullptr || (section->header.sh_flags & SHF_ALLOC) == 0) {
    why_no_rows_ = "no .sframe section";
    return;
  }
  auto own = std::make_shared<const unwind::PagedSection>(image_.bytes_of(*section), section->header.sh_addr);
  if (const sframe::ViewFault fault = own->fault()) {
    why_no_rows_ = ".sframe+" + hex(fault.offset) + ": " + sframe::text_of(fault.problem);
    return;
  }
  own_ = std::move(own);
}

void CodeFile::translate() {
  was_translated_ = true;
  if (!options_.allowed) return;
  MadeSection made = make_section(image_, options_.cache, RowEvidence::Cfi);
  kept_section_ = std::move(made.kept);
  made_ = std::move(made.section);
  if (made_ == nullptr) why_no_rows_ = std::move(made.why_not);
}

const CodeFile::Rows& CodeFile::rows() {
  if (!own_was_tried_) {
    try {
      open_own_section();
    } catch (const Failure& failure) {
      why_no_rows_ = failure.what();
    }
  }
  return own_ ? own_ : more_rows();
}

const CodeFile::Rows& CodeFile::more_rows() {
  if (!was_translated_) translate();
  return made_;
}

bool CodeFile::has_row(std::uint64_t address) const {
  return std::ranges::any_of(std::array{&own_, &made_}, [&](const Rows* rows) {
    return *rows != nullptr && (*rows)->view().lookup(address).kind != sframe::Lookup::Kind::Nothing;
  });
}

bool CodeFile::keeps_frame_pointer_at(std::uint64_t pc, bool is_exact) {
  constexpr std::uint64_t most = 8192, longest_setup = 16;
  const elf::Machine* const machine = elf::find_machine(image_);
  if (machine == nullptr) return false;
  RowsFromCode* const rows = is_exact ? rows_from_code() : nullptr;
  if (rows != nullptr && rows->seen_at(pc).has_callers_frame_pointer) return false;
  for (const Elf64_Phdr& segment : image_.segments()) {
    const std::uint64_t into = pc - segment.p_vaddr;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 || into >= segment.p_filesz) continue;
    if (is_exact && begins_with_return(machine->abi, elf::loaded_bytes_from(image_, pc))) return false;
    const auto has_setup = [&](std::uint64_t begin, std::uint64_t end) {
      const auto code = elf::loaded_bytes(image_, begin, end - begin);
      const auto setup = find_frame_pointer_setup(machine->abi, code, begin);
      return setup && !has_row(begin + *setup);
    };
    const std::uint64_t function = pc - std::min(into, begins_before(pc));
    return has_setup(function, std::min(pc, function + longest_setup)) || has_setup(pc - std::min(into, most), pc);
  }
  return false;
}

/// How far before an address the function begins whose symbol reaches it. 0: none does.
std::uint64_t CodeFile::begins_before(std::uint64_t address) {
  if (!names_) read_names();
  const auto symbol = names_->symbol_at(address);
  return symbol ? address - symbol->begin : 0;
}

RowsFromCode* CodeFile::rows_from_code() {
  if (!options_.allowed || options_.code == nullptr) return nullptr;
  if (!rows_from_code_) rows_from_code_ = std::make_unique<RowsFromCode>(image_, options_.cache, *options_.code);
  return rows_from_code_.get();
}

std::optional<sframe::RecoveryRules> CodeFile::row_from_code(std::uint64_t pc, bool is_exact) {
  RowsFromCode* const rows = rows_from_code();
  if (rows == nullptr) return std::nullopt;
  const auto seen = is_exact ? rows->seen_at(pc).row : std::nullopt;
  return seen ? seen : rows->proved_at(pc);
}

bool CodeFile::begins_program(std::uint64_t pc) {
  RowsFromCode* const rows = rows_from_code();
  return rows != nullptr && rows->begins_program(pc);
}

/// As much as the segment has, up to `most` bytes.
std::span<const std::byte> CodeFile::code_before(std::uint64_t pc, std::uint64_t most) const {
  for (const Elf64_Phdr& segment : image_.segments()) {
    const std::uint64_t into = pc - segment.p_vaddr;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 || into > segment.p_filesz) continue;
    const std::uint64_t before = std::min(into, most);
    return elf::loaded_bytes(image_, pc - before, before);
  }
  return {};
}

bool CodeFile::may_return_to(std::uint64_t pc) const {
  constexpr std::uint64_t longest_call = 7;
  const elf::Machine* const machine = elf::find_machine(image_);
  return machine != nullptr &&
         may_return_between(machine->abi, code_before(pc, longest_call), elf::loaded_bytes_from(image_, pc));
}

bool CodeFile::is_after_system_call(std::uint64_t pc) const {
  constexpr std::uint64_t longest = 4;
  const elf::Machine* const machine = elf::find_machine(image_);
  return machine != nullptr && ends_in_system_call(machine->abi, code_before(pc, longest));
}

GoCode* CodeFile::go_code() {
  if (!std::exchange(go_was_tried_, true)) go_ = GoCode::of(image_);
  return go_.get();
}

FrameRecord CodeFile::frame_record_at(std::uint64_t address) {
  constexpr std::int32_t record_size = 16, word = 8;
  const elf::Machine* const machine = elf::find_machine(image_);
  if (machine == nullptr || machine->abi != sframe::Abi::Amd64) return FrameRecord::None;
  const sframe::AbiTraits& abi = sframe::traits_of(machine->abi);
  sframe::Lookup found;
  for (const Rows* const rows : {&this->rows(), &more_rows()})
    if (found.kind == sframe::Lookup::Kind::Nothing && *rows != nullptr) found = (*rows)->view().lookup(address);
  if (found.kind == sframe::Lookup::Kind::Outermost) return FrameRecord::Outermost;
  if (found.kind != sframe::Lookup::Kind::Row || found.signal_frame) return FrameRecord::None;
  const sframe::RecoveryRules& row = found.row;
  if (row.return_address != sframe::Rule::at_cfa(-word)) return FrameRecord::None;
  if (row.frame_pointer == sframe::Rule::in_register(abi.frame_pointer)) return FrameRecord::OfCaller;
  if (row.frame_pointer != sframe::Rule::at_cfa(-record_size)) return FrameRecord::None;
  if (row.cfa == sframe::Rule::register_plus(abi.frame_pointer, record_size)) return FrameRecord::Kept;
  // Rows of Go's code count from the stack pointer. In other code, a saved register need not be a frame pointer.
  const GoCode* const go = go_code();
  return go != nullptr && go->has_set_frame_pointer(address) ? FrameRecord::Kept : FrameRecord::None;
}

std::uint64_t CodeFile::popped_frame_pointer_at(std::uint64_t pc) const {
  constexpr std::uint64_t most = 16;  // pops of all registers that a function may have saved
  const elf::Machine* const machine = elf::find_machine(image_);
  if (machine == nullptr || machine->abi != sframe::Abi::Amd64) return 0;
  return popped_frame_pointer(code_before(pc, most), elf::loaded_bytes_from(image_, pc));
}

void CodeFile::open_mini_debug_info() {
  mini_debug_info_ = mini_debug_info(image_);
  if (mini_debug_info_.empty()) return;
  try {
    mini_debug_ = elf::Image::of_bytes(mini_debug_info_, name());
  } catch (const Failure&) {
    mini_debug_info_.clear();
  }
}

void CodeFile::open_debug_file(Purpose purpose) {
  if (std::exchange(debug_was_sought_, true)) return;
  debug_ = find_debug_file(image_, root_, user_);
  Debuginfod* const servers = options_.debuginfod;
  // Without --debuginfod, files are counted that have no names.
  if (debug_ || servers == nullptr || (purpose == Purpose::SourceLines && !servers->fetches())) return;
  try {
    debug_ = fetch_debug_file(elf::hex_digits(elf::build_id(image_)), name(), *servers);
  } catch (const Failure&) {
    // Names are worth no error: without them an address is printed.
  }
}

void CodeFile::read_names() {
  const elf::Image* names = nullptr;
  if (image_.find_section(".symtab") == nullptr) {
    open_debug_file(Purpose::Names);
    if (!debug_) open_mini_debug_info();
    if (debug_ || mini_debug_) names = debug_ ? &*debug_ : &*mini_debug_;
  }
  names_ = std::make_unique<elf::SymbolNames>(names == nullptr ? image_ : *names, elf::SymbolChoice::ForPeople);
  if (names != nullptr) own_names_ = std::make_unique<elf::SymbolNames>(image_, elf::SymbolChoice::ForPeople);
}

void CodeFile::open_source() try {
  if (std::exchange(source_was_sought_, true) || !options_.source.are_wanted()) return;
  const elf::Image* debug = &image_;
  if (!dwarf::SourcePlaces::has_any(*debug)) {
    open_debug_file(Purpose::SourceLines);
    if (!debug_ || !dwarf::SourcePlaces::has_any(*debug_)) return;
    debug = &*debug_;
  }
  if (const auto [path, id] = dwarf::SourcePlaces::alternate_of(*debug); !path.empty()) {
    alternate_ = find_alternate(*debug, path, id, root_, user_);
    Debuginfod* const servers = options_.debuginfod;
    if (!alternate_ && servers != nullptr && servers->fetches()) alternate_ = fetch_debug_file(id, path, *servers);
    if (!alternate_) {
      if (options_.source.missing_alternates != nullptr)
        options_.source.missing_alternates->try_emplace(printable(path), name());
      return;
    }
  }
  source_ = std::make_unique<SourceNames>(
      *debug, alternate_ ? &*alternate_ : nullptr, options_.source,
      [this, debug](const std::string& path) { return open_named_by(*debug, path, root_, user_); });
} catch (const Failure&) {
  // Of a damaged file less is known.
}

const SourceChain& CodeFile::source_at(std::uint64_t address) {
  static const SourceChain nothing;
  if (!source_was_sought_) open_source();
  return source_ ? source_->at(address) : nothing;
}

FunctionPlace CodeFile::function_at(std::uint64_t address) {
  return asked_.get(address, [this](std::uint64_t asked) { return look_up(asked); });
}

FunctionPlace CodeFile::look_up(std::uint64_t address) {
  if (!names_) read_names();
  auto symbol = names_->symbol_at(address);
  if (own_names_ && (!symbol || !mini_debug_info_.empty())) {
    auto own = own_names_->symbol_at(address);
    if (own && (!symbol || own->begin > symbol->begin)) symbol = std::move(own);
  }
  if (!symbol) return {};
  // Only the linker needs the function's version (name@@VERSION).
  const auto [name, is_first] = demangled_.try_emplace({symbol->begin, symbol->end});
  if (is_first) name->second = demangled_for_people(symbol->name.substr(0, symbol->name.find('@')));
  return {name->second.name, name->second.symbol, address - symbol->begin};
}

}  // namespace sframe_gen::trace::walk
