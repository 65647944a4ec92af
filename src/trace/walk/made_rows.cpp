#include "trace/walk/made_rows.hpp"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <span>
#include <utility>

#include "elf/kept_section.hpp"
#include "elf/machine.hpp"
#include "elf/records.hpp"
#include "files/kept_header.hpp"
#include "rows/proof/caller_at.hpp"
#include "rows/proof/decoder.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/convert.hpp"
#include "sframe_gen/error.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::trace::walk {

MadeSection make_section(const elf::Image& image, const std::filesystem::path& cache, RowEvidence evidence) {
  constexpr std::uint64_t section_address = files::kept_section_address;
  const bool reads_code = evidence == RowEvidence::CfiAndCode;
  MadeSection made;
  try {
    const elf::KeptSection place(cache, image, reads_code ? "-code" : "");
    made.kept = place.find();
    if (made.kept) {
      auto kept = std::make_shared<const unwind::PagedSection>(made.kept->content(), section_address);
      if (!kept->fault()) {
        made.section = std::move(kept);
        return made;
      }
    }
    ConvertOptions options;
    options.format.covers_padding = false;  // walks look up the byte before a return address
    options.synthesize = reads_code;
    std::vector<std::byte> bytes = translate(image.file_bytes(), image.name(), section_address, options).bytes;
    check_is_whole(image.file_bytes(), image.name());
    const std::span<const std::byte> content = bytes;
    auto section = std::make_shared<const unwind::PagedSection>(std::move(bytes), section_address);
    if (const sframe::ViewFault& fault = section->fault()) {
      made.why_not = std::string("its call frame information makes no section: ") + sframe::text_of(fault.problem);
      return made;
    }
    made.section = std::move(section);
    place.keep(content);
  } catch (const std::exception& failure) {
    made.why_not = failure.what();
  }
  return made;
}

namespace {

std::uint64_t size_of_code(const elf::Image& image) {
  std::uint64_t size = 0;
  for (const Elf64_Phdr& segment : image.segments())
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) size += segment.p_filesz;
  return size;
}

/// By DWARF's numbers, and with the caller's stack pointer as CFA.
sframe::RecoveryRules rules_of(const rows::proof::CallerPlace& caller) {
  const sframe::AbiTraits& abi = sframe::amd64_traits;
  const auto from_cfa = [&](std::int64_t offset) { return static_cast<std::int32_t>(offset - caller.stack_pointer); };
  sframe::RecoveryRules rules;
  rules.cfa = sframe::Rule::register_plus(caller.base == rows::proof::rsp ? abi.stack_pointer : abi.frame_pointer,
                                          static_cast<std::int32_t>(caller.stack_pointer));
  rules.return_address = sframe::Rule::at_cfa(from_cfa(caller.return_address));
  if (caller.frame_pointer)
    rules.frame_pointer = sframe::Rule::at_cfa(from_cfa(*caller.frame_pointer));
  else if (caller.frame_pointer_is_known)
    rules.frame_pointer = sframe::Rule::in_register(abi.frame_pointer);
  return rules;
}

}  // namespace

RowsFromCode::RowsFromCode(const elf::Image& image, const std::filesystem::path& cache, CodeBudget& budget)
    : image_(image), cache_(cache), budget_(budget) {
  const elf::Machine* const machine = elf::find_machine(image);
  is_of_machine_ = machine != nullptr && machine->abi == sframe::Abi::Amd64;
}

RowsFromCode::~RowsFromCode() {
  std::erase(budget_.waiting, this);
}

bool CodeBudget::prove_waiting() {
  const std::vector<RowsFromCode*> files = std::exchange(waiting, {});
  for (RowsFromCode* const file : files) file->prove();
  return !files.empty();
}

void RowsFromCode::prove() {
  was_proved_ = true;
  const std::uint64_t size = size_of_code(image_);
  if (!is_of_machine_ || size > CodeBudget::most_of_file || size > budget_.left) return;
  budget_.left -= size;
  proved_ = make_section(image_, cache_, RowEvidence::CfiAndCode);
}

std::optional<sframe::RecoveryRules> RowsFromCode::proved_at(std::uint64_t pc) {
  if (!was_proved_ && budget_.waits) {
    if (std::ranges::find(budget_.waiting, this) == budget_.waiting.end()) budget_.waiting.push_back(this);
    return std::nullopt;
  }
  if (!was_proved_ && ++unproved_lookups_ * budget_.for_each_lookup < size_of_code(image_)) return std::nullopt;
  if (!was_proved_) prove();
  if (proved_.section == nullptr) return std::nullopt;
  const sframe::Lookup found = proved_.section->view().lookup(pc);
  const bool is_plain = found.kind == sframe::Lookup::Kind::Row && !found.signal_frame;
  return is_plain ? std::optional(found.row) : std::nullopt;
}

const rows::proof::Decoder* RowsFromCode::decoder() {
  if (is_of_machine_ && !std::exchange(decoder_was_tried_, true)) {
    try {
      decoder_ = std::make_unique<rows::proof::Decoder>(image_.name());
    } catch (const Failure&) {
      // Without Zydis, no code is understood.
    }
  }
  return decoder_.get();
}

/// Labels in assembly have no size, or no type.
void RowsFromCode::find_functions() {
  functions_were_sought_ = true;
  const elf::Section* table = image_.find_section(".symtab");
  if (table == nullptr) table = image_.find_section(".dynsym");
  if (table == nullptr) return;
  const auto records = image_.bytes_of(*table);
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= records.size(); at += sizeof(Elf64_Sym)) {
    const Elf64_Sym symbol = elf::load_symbol(records.subspan(at), image_.endian());
    const bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
    if (is_function && symbol.st_size != 0) functions_.push_back({symbol.st_value, symbol.st_value + symbol.st_size});
  }
  std::ranges::sort(functions_, {}, &Range::begin);
}

/// Empty where none is, or one inside of another.
Range RowsFromCode::function_around(std::uint64_t pc) {
  constexpr int most_tries = 16;
  if (!functions_were_sought_) find_functions();
  Range found{pc, pc};
  auto next = std::ranges::upper_bound(functions_, pc, {}, &Range::begin);
  for (int i = 0; i < most_tries && next != functions_.begin(); ++i) {
    --next;
    if (!next->contains(pc)) continue;
    if (found.size() != 0 && (next->begin != found.begin || next->end != found.end)) return {pc, pc};
    found = *next;
  }
  return found;
}

RowsFromCode::Seen RowsFromCode::seen_at(std::uint64_t pc) {
  if (decoder() == nullptr) return {};
  return seen_.get(pc, [&](std::uint64_t asked) -> Seen {
    if (const auto caller = rows::proof::caller_by_return(image_, *decoder_, asked))
      return {rules_of(*caller), caller->base == rows::proof::rsp && !caller->frame_pointer};
    const rows::proof::WayIn way = rows::proof::way_in(image_, *decoder_, function_around(asked), asked);
    return {way.caller ? std::optional(rules_of(*way.caller)) : std::nullopt, way.has_callers_frame_pointer};
  });
}

bool RowsFromCode::begins_program(std::uint64_t pc) {
  return decoder() != nullptr && rows::proof::is_before_first_call(image_, *decoder_, pc);
}

}  // namespace sframe_gen::trace::walk
