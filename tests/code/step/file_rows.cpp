#include "code/step/file_rows.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

#include "cfi/frame_source.hpp"
#include "sframe_gen/section.hpp"
#include "support/text.hpp"

namespace sframe_gen::stepping {

namespace {

cfi::Formula formula_of(const sframe::Rule& rule) {
  cfi::Formula formula{std::nullopt, rule.offset, rule.dereferenced};
  if (rule.base_register) formula.base = cfi::DwarfRegister{*rule.base_register};
  return formula;
}

/// A section's row in CFI's terms.
cfi::Rules rules_of(const std::optional<sframe::RecoveryRules>& recovery) {
  cfi::Rules rules;
  rules.return_address = cfi::Undefined{};
  if (!recovery) return rules;
  rules.cfa = formula_of(recovery->cfa);
  const sframe::Rule fixed_place = sframe::Rule::at_cfa(-8);
  rules.return_address = formula_of(recovery->return_address.value_or(fixed_place));
  rules.frame_pointer = cfi::SameValue{};
  if (recovery->frame_pointer) rules.frame_pointer = formula_of(*recovery->frame_pointer);
  return rules;
}

/// Evaluates rules with a thread's registers and memory.
class Evaluation {
 public:
  explicit Evaluation(const SteppedThread& thread) : thread_(thread) {}

  std::optional<std::uint64_t> cfa_of(const cfi::CfaRule& rule) {
    if (const auto* formula = std::get_if<cfi::Formula>(&rule)) {
      if (formula->base) cfa_ = value(*formula);
    } else if (const auto* stub = std::get_if<cfi::PltStub>(&rule)) {
      const std::uint64_t pc = thread_.registers().rip;
      const bool has_pushed = pc % cfi::plt_entry_size >= stub->threshold;
      cfa_ = value({stub->base, stub->offset + (has_pushed ? cfi::plt_push_size : 0)});
    }
    return cfa_;
  }

  /// After cfa_of.
  std::optional<std::uint64_t> value(const cfi::Formula& formula) const {
    auto base = cfa_;
    if (formula.base) base = value_of(thread_.registers(), static_cast<std::uint32_t>(*formula.base));
    if (!base) return std::nullopt;
    const std::uint64_t sum = *base + static_cast<std::uint64_t>(formula.offset);
    // What cannot be read is another value than any that is expected.
    return formula.dereferenced ? thread_.word(sum).value_or(~std::uint64_t{0}) : sum;
  }

 private:
  const SteppedThread& thread_;
  std::optional<std::uint64_t> cfa_;
};

}  // namespace

const char* name_of(Verdict verdict) {
  constexpr std::array<const char*, verdict_count> names{"no row",    "right",       "not evaluated", "outermost",
                                                         "elsewhere", "FP of OCaml", "CFA",           "FP"};
  return names[static_cast<std::size_t>(verdict)];
}

Verdict judge(const cfi::Rules& rules, const SteppedPc& pc, const SteppedThread& thread, const Call& call) {
  if (std::holds_alternative<cfi::Undefined>(rules.return_address)) return Verdict::Outermost;
  if (thread.word(call.cfa - 8) != call.return_address) return Verdict::Elsewhere;
  Evaluation evaluation(thread);
  const auto cfa = evaluation.cfa_of(rules.cfa);
  const auto* return_address = std::get_if<cfi::Formula>(&rules.return_address);
  if (!cfa || return_address == nullptr) return Verdict::Unknown;
  const bool is_of_call = *return_address == cfi::Formula{std::nullopt, -8, true};
  if (*cfa != call.cfa) return is_of_call ? Verdict::WrongCfa : Verdict::Elsewhere;
  if (!is_of_call && evaluation.value(*return_address) != call.return_address) return Verdict::Elsewhere;
  std::optional<std::uint64_t> frame_pointer = thread.registers().rbp;
  if (const auto* formula = std::get_if<cfi::Formula>(&rules.frame_pointer)) {
    frame_pointer = evaluation.value(*formula);
  } else if (std::holds_alternative<cfi::Undefined>(rules.frame_pointer) ||
             std::holds_alternative<cfi::OtherExpression>(rules.frame_pointer)) {
    return Verdict::Unknown;
  }
  if (frame_pointer == call.frame_pointer) return Verdict::Right;
  return pc.keeps_frame_pointer ? Verdict::WrongFramePointer : Verdict::Unkept;
}

FileRows::FileRows(const std::filesystem::path& file, const std::filesystem::path& converted, bool proves)
    : image_(elf::Image::open(file)), names_(image_) {
  read_cfi();
  read_section(converted);
  if (proves) proved_ = std::make_unique<ProvedRows>(image_, functions_, rules_);
}

void FileRows::read_cfi() {
  const cfi::FrameSource source(image_, image_);
  cfi::FrameReader reader(source, rules_);
  for (const auto& part : source.parts(1))
    reader.for_each_function(part, [&](const cfi::Function& function) { functions_.push_back(function); });
}

void FileRows::read_section(const std::filesystem::path& converted) {
  try {
    for (const FileSection& section : read_sections(converted))
      if (section.name == ".sframe") rows_ = sframe::pc_rows(section.section);
  } catch (const Refused&) {  // it has none
  }
}

const cfi::Function* FileRows::function_at(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(functions_, address, {}, &cfi::Function::start);
  if (after == functions_.begin() || address >= (after - 1)->end()) return nullptr;
  return &*(after - 1);
}

bool FileRows::is_of_ocaml(std::uint64_t address) {
  const auto symbol = names_.symbol_at(address);
  if (!symbol || !symbol->name.starts_with("caml") || symbol->name.size() == 4) return false;
  // camlModule__function_123, and what ocamlopt makes of whole programs: other names (caml_function) are the runtime's
  // C.
  constexpr std::array of_programs{"caml_program", "caml_apply", "caml_curry", "caml_tuplify"};
  return std::isupper(static_cast<unsigned char>(symbol->name[4])) != 0 ||
         std::ranges::any_of(of_programs, [&](const char* name) { return symbol->name.starts_with(name); });
}

SteppedPc& FileRows::at(std::uint64_t address) {
  const auto [found, is_new] = pcs_.try_emplace(address);
  SteppedPc& pc = found->second;
  if (!is_new) return pc;
  pc.address = address;
  pc.keeps_frame_pointer = !is_of_ocaml(address);
  if (const cfi::Function* function = function_at(address)) {
    std::uint64_t offset = address - function->start;
    if (function->repeat_size != 0) offset %= function->repeat_size;
    const auto after = std::ranges::upper_bound(function->rows, offset, {}, &cfi::Row::pc_offset);
    const cfi::Rules& rules = rules_[(after - 1)->rule];
    if (!std::holds_alternative<cfi::UnknownReason>(rules.cfa)) pc.cfi = rules;
    pc.function = function->start;
  }
  const auto after = std::ranges::upper_bound(rows_, address, {}, &sframe::PcRow::begin);
  if (after != rows_.begin() && address < (after - 1)->end) pc.section = rules_of((after - 1)->recovery);
  if (proved_) pc.proof = proved_->at(address);
  return pc;
}

std::string FileRows::place_of(std::uint64_t address) {
  const auto symbol = names_.symbol_at(address);
  if (!symbol) return hex(address);
  return hex(address) + " " + symbol->name + "+" + hex(address - symbol->begin);
}

}  // namespace sframe_gen::stepping
