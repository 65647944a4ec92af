#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "elf/image.hpp"
#include "readers/fact.hpp"
#include "sframe_gen/verdicts.hpp"

namespace sframe_gen::readers {

/// What a reader does with a section that has a fact it does not accept.
struct Objection {
  Fact fact{};
  ReaderVerdict::Kind kind = ReaderVerdict::Kind::Refuses;
  std::string_view rule;      ///< with the reader's name in front: "supports only version 3"
  bool can_be_helped = true;  ///< --for of the reader's name writes a section without it
  Fact with = fact;           ///< only together with this one
};

/// What a reader accepts.
struct ReaderRules {
  bool reads_objects = false;
  bool reads_linked = false;
  bool reads_kernels = false;             ///< linked ones too; not those who walk the stacks of programs
  std::span<const Objection> objections;  ///< in the order in which it comes to them
  std::string_view why_no_format{};       ///< no section is made for it; mostly empty
};

extern const ReaderRules kernel_rules, glibc_rules, java_profiler_rules, llvm_readelf_rules, mold_rules;
/// Rules of binutils, by version: libsframe with readelf and objdump, and the linker.
extern const ReaderRules libsframe_rules, libsframe_2_44_rules, libsframe_2_40_rules;
extern const ReaderRules gnu_ld_rules, gnu_ld_2_45_rules, gnu_ld_2_44_rules, gnu_ld_2_40_rules;

/// Returns the readers that are known, in the order in which people are told of them.
std::span<const ReaderTarget> known_targets();

/// Returns what a reader accepts. Throws Refused for one that is not known.
const ReaderRules& rules_of(const ReaderTarget& reader);

/// What a reader makes of a section in which this was found.
ReaderVerdict judge(const ReaderTarget& reader, bool is_object, const Findings& findings);

/// What each of `readers` makes of the file's .sframe; without any, those that read such files are asked. Throws
/// Refused where there is none.
std::vector<ReaderVerdict> judge(const elf::Image& image, std::span<const ReaderTarget* const> readers);

}  // namespace sframe_gen::readers
