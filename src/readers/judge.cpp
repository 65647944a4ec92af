#include "readers/judge.hpp"

#include <string>

#include "elf/kernel_image.hpp"
#include "readers/file_survey.hpp"
#include "readers/rules.hpp"
#include "support/text.hpp"

namespace sframe_gen::readers {
namespace {

bool reads(const ReaderTarget& reader, bool is_object) {
  return is_object ? reader.rules->reads_objects : reader.rules->reads_linked;
}

bool walks_programs(const ReaderTarget& reader) {
  return reader.rules->reads_linked && !reader.rules->reads_kernels;
}

/// Not even by Linux itself: for its own stacks it has other rules than for those of programs.
ReaderVerdict refusal_of_kernel(const ReaderTarget& reader) {
  ReaderVerdict verdict;
  verdict.reader = &reader;
  verdict.kind = ReaderVerdict::Kind::Refuses;
  verdict.why = "it is a Linux kernel's own; " + std::string(reader.name) + " walks the stacks of programs";
  return verdict;
}

std::string place_of(const Finding& finding) {
  return finding.offset == Finding::no_offset ? "" : " (.sframe+" + hex(finding.offset) + ")";
}

const Objection* find_objection(const Rules& rules, const Findings& findings) {
  for (const Objection& objection : rules.objections)
    if (findings.has(objection.fact) && findings.has(objection.with)) return &objection;
  return nullptr;
}

}  // namespace

ReaderVerdict judge(const ReaderTarget& reader, bool is_object, const Findings& findings) {
  ReaderVerdict verdict;
  verdict.reader = &reader;
  const std::string name(reader.name);
  if (!reads(reader, is_object)) {
    verdict.kind = ReaderVerdict::Kind::Refuses;
    verdict.why = is_object ? "it is in an object; " + name + " reads linked files only"
                            : "it is in a linked file; " + name + " reads objects only";
    return verdict;
  }
  const Objection* const objection = find_objection(*reader.rules, findings);
  if (objection == nullptr) return verdict;
  const Finding& finding = *findings.find(objection->fact);
  verdict.kind = objection->kind;
  verdict.why = finding.text + place_of(finding) + "; " + name + ' ' + std::string(objection->rule);
  verdict.helped_by_target = objection->can_be_helped;
  return verdict;
}

std::vector<ReaderVerdict> judge(const elf::Image& image, std::span<const ReaderTarget* const> readers) {
  const elf::Section* const section = image.find_section(elf::sframe_section_name);
  if (section == nullptr) throw Refused(image.name(), "has no .sframe section");
  // No reader looks there, and --for helps none: it is refused as well.
  if (section->header.sh_type == SHT_NOBITS)
    throw Refused(image.name(), "is a separate debug file: section .sframe has no bytes");
  const Findings findings = survey_file(image, *section);
  const bool is_kernel = elf::is_kernel(image);
  std::vector<ReaderVerdict> verdicts;
  if (readers.empty()) {
    for (const ReaderTarget& reader : reader_targets())
      if (reads(reader, image.is_object()) && !(is_kernel && walks_programs(reader)))
        verdicts.push_back(judge(reader, image.is_object(), findings));
  }
  for (const ReaderTarget* const reader : readers) {
    const bool is_foreign = is_kernel && walks_programs(*reader);
    verdicts.push_back(is_foreign ? refusal_of_kernel(*reader) : judge(*reader, image.is_object(), findings));
  }
  return verdicts;
}

}  // namespace sframe_gen::readers
