// The library for C: options in, a status and results out. No exception leaves these functions.

#include "sframe_gen/sframe_gen.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "convert/file_kind.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/check.hpp"
#include "sframe_gen/convert.hpp"
#include "sframe_gen/encode.hpp"
#include "sframe_gen/find_rows.hpp"
#include "sframe_gen/section.hpp"
#include "sframe_gen/translated_sections.hpp"
#include "sframe_gen/verify.hpp"

struct sframe_gen_section {
  sframe_gen::sframe::Section decoded;
};

struct sframe_gen_translated_sections {
  explicit sframe_gen_translated_sections(const sframe_gen::ConvertOptions& options) : sections(options) {}
  sframe_gen::TranslatedSections sections;
};

namespace sframe_gen {
namespace {

thread_local std::string message;

/// What the caller did wrong.
class WrongArgument : public std::exception {
 public:
  explicit WrongArgument(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

int fail(int status, const char* what) noexcept {
  try {
    message = what;
  } catch (const std::bad_alloc&) {
    message.clear();
  }
  return status;
}

/// Does `work`, and returns what came of it.
template <typename Work>
int status_of(const Work& work) noexcept {
  try {
    work();
    return SFRAME_GEN_OK;
  } catch (const WrongArgument& failure) {
    return fail(SFRAME_GEN_WRONG_ARGUMENT, failure.what());
  } catch (const MalformedInput& failure) {
    return fail(SFRAME_GEN_MALFORMED, failure.what());
  } catch (const SystemFailure& failure) {
    return fail(SFRAME_GEN_SYSTEM, failure.what());
  } catch (const LayoutViolation& failure) {
    return fail(SFRAME_GEN_BUG, failure.what());
  } catch (const Failure& failure) {
    return fail(SFRAME_GEN_REFUSED, failure.what());
  } catch (const std::bad_alloc&) {
    return fail(SFRAME_GEN_NO_MEMORY, "out of memory");
  } catch (const std::exception& failure) {
    return fail(SFRAME_GEN_BUG, failure.what());
  } catch (...) {
    return fail(SFRAME_GEN_BUG, "an unknown exception");
  }
}

template <typename Pointer>
void require(Pointer pointer, const char* name) {
  if (pointer == nullptr) throw WrongArgument(std::string(name) + " is null");
}

/// Its size in the header of version 1, which no later one may change. A caller's structure may be of any header.
template <typename Struct>
constexpr std::size_t first_size = 0;
template <>
constexpr std::size_t first_size<sframe_gen_options> = 56;
template <>
constexpr std::size_t first_size<sframe_gen_result> = 96;
template <>
constexpr std::size_t first_size<sframe_gen_verification> = 80;
template <>
constexpr std::size_t first_size<sframe_gen_section_info> = 48;
template <>
constexpr std::size_t first_size<sframe_gen_function> = 40;

template <typename Struct>
void require_size(const Struct& given, const char* name) {
  static_assert(first_size<Struct> != 0 && sizeof(Struct) >= first_size<Struct>);
  static_assert(std::is_trivially_copyable_v<Struct> && std::is_standard_layout_v<Struct>);
  if (given.size < first_size<Struct>) throw WrongArgument(std::string(name) + "->size is too small");
}

/// An option of a later header than ours must not be ignored.
void require_known(const sframe_gen_options& options) {
  require_size(options, "options");
  const std::span all(reinterpret_cast<const unsigned char*>(&options), options.size);
  const auto unknown = all.subspan(std::min(all.size(), sizeof options));
  if (std::ranges::any_of(unknown, [](unsigned char byte) { return byte != 0; }))
    throw WrongArgument("options has some of a later version");
}

/// Fills as much of the caller's structure as its header knows, and keeps its size.
template <typename Struct>
void give(Struct made, Struct* result) {
  if (result == nullptr) return;
  made.size = result->size;
  std::memcpy(result, &made, std::min(result->size, sizeof made));
}

constexpr std::uint32_t all_flags = SFRAME_GEN_DRY_RUN | SFRAME_GEN_FROM_SECTION | SFRAME_GEN_IGNORE_BUILD_ID |
                                    SFRAME_GEN_DROP_SIGNATURE | SFRAME_GEN_MOVE_HEADERS | SFRAME_GEN_NO_UNDO |
                                    SFRAME_GEN_NO_STUBS | SFRAME_GEN_OMIT_DISPROVED | SFRAME_GEN_SYNTHESIZE;

sframe::Version version_of(std::uint32_t number) {
  switch (number) {
    case 1:
      return sframe::Version::V1;
    case 2:
      return sframe::Version::V2;
    case 3:
      return sframe::Version::V3;
    default:
      throw WrongArgument("sframe_version is " + std::to_string(number) + ", not 1, 2 or 3");
  }
}

std::uint32_t number_of(sframe::Version version) {
  switch (version) {
    case sframe::Version::CtfFrame:
      return 0;
    case sframe::Version::V1:
      return 1;
    case sframe::Version::V2:
      return 2;
    case sframe::Version::V3:
      return 3;
  }
  return 0;
}

OutputFormat format_of(const sframe_gen_options& options) {
  OutputFormat format;
  if (options.sframe_version != 0) format.version = version_of(options.sframe_version);
  if (options.reader != nullptr) {
    const ReaderTarget* const target = find_reader_target(options.reader);
    if (target == nullptr) throw WrongArgument(std::string(options.reader) + " is not a known reader");
    if (!why_no_format(*target).empty())
      throw WrongArgument(std::string(options.reader) + ' ' + std::string(why_no_format(*target)));
    const std::uint32_t version = number_of(target->format.version);
    if (options.sframe_version != 0 && options.sframe_version != version)
      throw WrongArgument("sframe_version is " + std::to_string(options.sframe_version) + ", but reader " +
                          options.reader + " stands for version " + std::to_string(version));
    format = target->format;
  }
  if (options.compact_rows > most_compact_rows) throw WrongArgument("compact_rows is too large");
  format.compact_rows = options.compact_rows;
  return format;
}

/// The caller's options, in the form that the library takes.
struct CallerOptions {
  ConvertOptions options;
  sframe_gen_report report = nullptr;
  void* context = nullptr;

  WorkObserver observer() const {
    WorkObserver observer;
    if (report == nullptr) return observer;
    observer.warn = [this](const std::string& text) { report(context, SFRAME_GEN_WARNING, text.c_str()); };
    return observer;
  }
  void say(int about, const std::string& text) const {
    if (report != nullptr) report(context, about, text.c_str());
  }
};

CallerOptions caller_options(const sframe_gen_options* options) {
  if (options == nullptr) return {};
  require_known(*options);
  if ((options->flags & ~all_flags) != 0 || options->reserved != 0)
    throw WrongArgument("options->flags has unknown bits");
  const auto has = [options](std::uint32_t flag) { return (options->flags & flag) != 0; };
  CallerOptions made;
  made.options.format = format_of(*options);
  if (options->debug_file != nullptr) made.options.debug_file = options->debug_file;
  made.options.from_section = has(SFRAME_GEN_FROM_SECTION);
  made.options.ignore_build_id = has(SFRAME_GEN_IGNORE_BUILD_ID);
  made.options.drop_signature = has(SFRAME_GEN_DROP_SIGNATURE);
  made.options.move_headers = has(SFRAME_GEN_MOVE_HEADERS);
  made.options.keep_undo_record = !has(SFRAME_GEN_NO_UNDO);
  made.options.stubs = !has(SFRAME_GEN_NO_STUBS);
  made.options.omit_disproved = has(SFRAME_GEN_OMIT_DISPROVED);
  made.options.synthesize = has(SFRAME_GEN_SYNTHESIZE);
  made.options.dry_run = has(SFRAME_GEN_DRY_RUN);
  made.report = options->report;
  made.context = options->context;
  return made;
}

void add(const Coverage& coverage, sframe_gen_result& result) {
  result.functions += coverage.functions;
  result.whole += coverage.whole;
  result.in_part += coverage.in_part;
  result.left_out += coverage.left_out;
  result.rows += coverage.rows;
  result.described_bytes += coverage.described_bytes;
  result.covered_bytes += coverage.covered_bytes;
}

sframe_gen_result result_of(const LinkedOutcome& linked) {
  sframe_gen_result result{};
  result.kind = SFRAME_GEN_LINKED;
  result.section_address = linked.section_address;
  result.section_size = linked.section_size;
  result.growth = linked.growth;
  add(linked.coverage, result);
  return result;
}

sframe_gen_result result_of(const ObjectOutcome& object) {
  sframe_gen_result result{};
  result.kind = SFRAME_GEN_OBJECT;
  result.section_size = object.section_size;
  result.growth = object.growth;
  add(object.coverage, result);
  return result;
}

sframe_gen_result result_of(const KernelOutcome& kernel) {
  sframe_gen_result result{};
  result.kind = SFRAME_GEN_KERNEL;
  result.section_address = kernel.section_address;
  result.section_size = kernel.section_size;
  add(kernel.coverage, result);
  return result;
}

sframe_gen_result result_of(const ArchiveOutcome& archive) {
  sframe_gen_result result{};
  result.kind = SFRAME_GEN_ARCHIVE;
  result.growth = archive.growth;
  for (const MemberOutcome& member : archive.members) {
    const auto* const object = std::get_if<ObjectOutcome>(&member.outcome);
    if (object == nullptr) continue;
    ++result.members;
    result.section_size += object->section_size;
    add(object->coverage, result);
  }
  return result;
}

sframe_gen_verification result_of(const Verification& verification, std::uint64_t failed_members) {
  sframe_gen_verification result{};
  result.functions = verification.functions;
  result.rows = verification.rows;
  result.checked_pcs = verification.checked_pcs;
  result.differences = verification.difference_count;
  result.unchecked = verification.unchecked_count;
  result.left_out = verification.left_out_rows;
  result.described_bytes = verification.described_bytes;
  result.covered_bytes = verification.claimed_bytes;
  result.failed_members = failed_members;
  return result;
}

void report(const CallerOptions& wanted, const Verification& verification) {
  for (const Verification::Difference& difference : verification.differences)
    wanted.say(SFRAME_GEN_DIFFERENCE, text_of(difference));
  for (const Verification::Difference& unchecked : verification.unchecked)
    wanted.say(SFRAME_GEN_UNCHECKED, text_of(unchecked));
}

sframe_gen_verification verify_any(const char* file, const CallerOptions& wanted) {
  if (convert::kind_of(file) != convert::FileKind::Archive) {
    const Verification verification =
        verify_file(file, wanted.options.debug_file, wanted.options.ignore_build_id, wanted.observer());
    report(wanted, verification);
    return result_of(verification, 0);
  }
  const std::vector<MemberVerification> members = verify_archive(file, wanted.observer());
  std::uint64_t failed = 0;
  for (const MemberVerification& member : members) {
    report(wanted, member.result);
    if (member.failure.empty()) continue;
    ++failed;
    wanted.say(SFRAME_GEN_WARNING, member.failure);
  }
  return result_of(sum_of(members), failed);
}

sframe::Family family_of(std::uint32_t flags) {
  if ((flags & ~std::uint32_t{SFRAME_GEN_CTF_FRAME}) != 0) throw WrongArgument("flags has unknown bits");
  return flags != 0 ? sframe::Family::CtfFrame : sframe::Family::SFrame;
}

sframe_unwind_rule rule_of(const sframe::Rule& rule) {
  return {rule.base_register.value_or(SFRAME_UNWIND_BASE_CFA), rule.offset, rule.dereferenced ? 1U : 0U};
}

/// Rules that the ABI fixes are added, as in a view's rows. Returns which of SFRAME_UNWIND_LOOKUP_….
int put(const sframe::Section& section, std::size_t function, std::size_t number, sframe_unwind_row& row) {
  const sframe::AbiTraits& abi = sframe::traits_of(section.abi);
  const sframe::Fde& fde = section.fdes[function];
  row = {};
  row.function_start = fde.start;
  row.function_size = fde.size;
  row.descriptor = static_cast<std::uint32_t>(function);
  row.row_number = static_cast<std::uint32_t>(number);
  if (number >= fde.fres.size() || !fde.fres[number].recovery) return SFRAME_UNWIND_LOOKUP_OUTERMOST;
  const sframe::RecoveryRules& rules = *fde.fres[number].recovery;
  const sframe::Rule fixed = section.fixed_ra_offset != 0 ? sframe::Rule::at_cfa(section.fixed_ra_offset)
                                                          : sframe::Rule::in_register(abi.return_address);
  row.cfa = rule_of(rules.cfa);
  row.return_address = rule_of(rules.return_address.value_or(fixed));
  row.frame_pointer = rule_of(rules.frame_pointer.value_or(sframe::Rule::in_register(abi.frame_pointer)));
  row.mangled_ra = rules.mangled_ra ? 1 : 0;
  row.b_key = fde.b_key ? 1 : 0;
  row.signal_frame = fde.signal_frame ? 1 : 0;
  return SFRAME_UNWIND_LOOKUP_ROW;
}

sframe::Rule rule_of(const sframe_unwind_rule& rule) {
  if (rule.dereferenced > 1) throw WrongArgument("a rule's `dereferenced` is neither 0 nor 1");
  sframe::Rule made{std::nullopt, rule.offset, rule.dereferenced != 0};
  if (rule.base != SFRAME_UNWIND_BASE_CFA) made.base_register = rule.base;
  return made;
}

/// The format to encode in: the caller's, or else that of the section.
OutputFormat encoding_of(const sframe_gen_options* options, const sframe::Section& section) {
  if (options == nullptr) return sframe::format_of(section);
  const OutputFormat wanted = caller_options(options).options.format;
  if (options->reader != nullptr || options->sframe_version != 0) return wanted;
  OutputFormat format = sframe::format_of(section);
  format.compact_rows = wanted.compact_rows;
  return format;
}

/// Copies bytes to memory that sframe_gen_free() takes.
void* copy_of(std::span<const std::byte> bytes) {
  void* const copy = std::malloc(std::max<std::size_t>(bytes.size(), 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::ranges::copy(bytes, static_cast<std::byte*>(copy));
  return copy;
}

const sframe::Fde& function_of(const sframe_gen_section* section, std::size_t number) {
  require(section, "section");
  if (number >= section->decoded.fdes.size()) throw WrongArgument("no function has number " + std::to_string(number));
  return section->decoded.fdes[number];
}

}  // namespace
}  // namespace sframe_gen

using namespace sframe_gen;

extern "C" {

const char* sframe_gen_version(void) {
  return SFRAME_GEN_VERSION_STRING;
}

const char* sframe_gen_message(void) {
  return message.c_str();
}

int sframe_gen_convert(const char* input, const char* output, const sframe_gen_options* options,
                       sframe_gen_result* result) {
  return status_of([&] {
    require(input, "input");
    require(output, "output");
    if (result != nullptr) require_size(*result, "result");
    const CallerOptions wanted = caller_options(options);
    const ConvertOutcome outcome = convert_file(input, output, wanted.options, wanted.observer());
    give(std::visit([](const auto& done) { return result_of(done); }, outcome), result);
  });
}

int sframe_gen_remove(const char* input, const char* output, uint32_t flags) {
  return status_of([&] {
    require(input, "input");
    require(output, "output");
    if ((flags & ~(all_flags | SFRAME_GEN_SECTION_ONLY)) != 0) throw WrongArgument("flags has unknown bits");
    remove_section(
        input, output,
        {.dry_run = (flags & SFRAME_GEN_DRY_RUN) != 0, .section_only = (flags & SFRAME_GEN_SECTION_ONLY) != 0});
  });
}

int sframe_gen_verify(const char* file, const sframe_gen_options* options, sframe_gen_verification* result) {
  return status_of([&] {
    require(file, "file");
    if (result != nullptr) require_size(*result, "result");
    give(verify_any(file, caller_options(options)), result);
  });
}

int sframe_gen_translate(const void* elf, size_t size, const char* name, uint64_t address,
                         const sframe_gen_options* options, void** section, size_t* section_size,
                         sframe_gen_result* result) {
  return status_of([&] {
    require(elf, "elf");
    require(name, "name");
    require(section, "section");
    require(section_size, "section_size");
    if (result != nullptr) require_size(*result, "result");
    const CallerOptions wanted = caller_options(options);
    const TranslateOutcome made = translate({static_cast<const std::byte*>(elf), size}, name, address, wanted.options);
    sframe_gen_result done{};
    done.section_address = made.address;
    done.section_size = made.bytes.size();
    add(made.coverage, done);
    *section = copy_of(made.bytes);
    *section_size = made.bytes.size();
    give(done, result);
  });
}

void sframe_gen_free(void* section) {
  std::free(section);
}

int sframe_gen_translated_sections_new(const sframe_gen_options* options, sframe_gen_translated_sections** sections) {
  return status_of([&] {
    require(sections, "sections");
    *sections = new sframe_gen_translated_sections(caller_options(options).options);
  });
}

int sframe_gen_translated_sections_provide(void* context, const char* file, uint64_t bias, const void** bytes,
                                           size_t* size, uint64_t* address) {
  auto& owner = *static_cast<sframe_gen_translated_sections*>(context);
  return TranslatedSections::provide(&owner.sections, file, bias, bytes, size, address);
}

size_t sframe_gen_translated_sections_left_out(const sframe_gen_translated_sections* sections) {
  return sections->sections.failed().size();
}

int sframe_gen_translated_sections_reason(const sframe_gen_translated_sections* sections, size_t number,
                                          const char** file, const char** reason) {
  return status_of([&] {
    require(sections, "sections");
    require(file, "file");
    require(reason, "reason");
    const std::vector<TranslatedSections::FailedFile>& left_out = sections->sections.failed();
    if (number >= left_out.size()) throw WrongArgument("no file of this number was left out");
    *file = left_out[number].file.c_str();
    *reason = left_out[number].reason.c_str();
  });
}

void sframe_gen_translated_sections_free(sframe_gen_translated_sections* sections) {
  delete sections;
}

int sframe_gen_decode(const void* bytes, size_t size, uint64_t address, uint32_t flags, sframe_gen_section** section) {
  return status_of([&] {
    require(bytes, "bytes");
    require(section, "section");
    const sframe::Family family = family_of(flags);
    const char* const name = family == sframe::Family::CtfFrame ? ".ctf_frame" : ".sframe";
    *section = new sframe_gen_section{
        sframe::decode({static_cast<const std::byte*>(bytes), size}, address, {"memory", name}, {}, family)};
  });
}

int sframe_gen_read(const char* file, uint32_t flags, sframe_gen_section** section) {
  return status_of([&] {
    require(file, "file");
    require(section, "section");
    const std::string name = family_of(flags) == sframe::Family::CtfFrame ? ".ctf_frame" : ".sframe";
    std::vector<FileSection> found = read_sections(file);
    const auto wanted = std::ranges::find(found, name, &FileSection::name);
    if (wanted == found.end()) throw Refused(file, "no " + name + " section");
    *section = new sframe_gen_section{std::move(wanted->section)};
  });
}

void sframe_gen_section_free(sframe_gen_section* section) {
  delete section;
}

int sframe_gen_section_describe(const sframe_gen_section* section, sframe_gen_section_info* info) {
  return status_of([&] {
    require(section, "section");
    require(info, "info");
    require_size(*info, "info");
    const sframe::Section& decoded = section->decoded;
    sframe_gen_section_info made{};
    made.sframe_version = number_of(decoded.version);
    made.abi = static_cast<std::uint32_t>(decoded.abi);
    made.is_big_endian = decoded.endian == Endian::Big ? 1 : 0;
    made.flags = decoded.flags;
    made.address = decoded.address;
    made.functions = decoded.fdes.size();
    for (const sframe::Fde& function : decoded.fdes) made.rows += function.fres.size();
    give(made, info);
  });
}

int sframe_gen_section_function(const sframe_gen_section* section, size_t number, sframe_gen_function* function) {
  return status_of([&] {
    require(function, "function");
    require_size(*function, "function");
    const sframe::Fde& fde = function_of(section, number);
    sframe_gen_function made{};
    made.start = fde.start;
    made.code_size = fde.size;
    made.rows = static_cast<std::uint32_t>(fde.fres.size());
    made.repeat_size = fde.repeat_size;
    made.is_flexible = fde.type == sframe::FdeType::Flexible ? 1 : 0;
    made.signal_frame = fde.signal_frame ? 1 : 0;
    made.b_key = fde.b_key ? 1 : 0;
    give(made, function);
  });
}

int sframe_gen_section_row(const sframe_gen_section* section, size_t function, size_t number, int* kind,
                           sframe_unwind_row* row, uint32_t* pc_offset) {
  return status_of([&] {
    require(kind, "kind");
    require(row, "row");
    require(pc_offset, "pc_offset");
    const sframe::Fde& fde = function_of(section, function);
    if (number >= fde.fres.size()) throw WrongArgument("no row has number " + std::to_string(number));
    *kind = put(section->decoded, function, number, *row);
    *pc_offset = fde.fres[number].pc_offset;
  });
}

int sframe_gen_section_lookup(const sframe_gen_section* section, uint64_t pc, int* kind, sframe_unwind_row* row) {
  return status_of([&] {
    require(section, "section");
    require(kind, "kind");
    require(row, "row");
    const sframe::Section& decoded = section->decoded;
    *kind = SFRAME_UNWIND_LOOKUP_NOTHING;
    *row = {};
    const sframe::Fde* const fde = sframe::find_fde(decoded, pc);
    if (fde == nullptr) return;
    const auto function = static_cast<std::size_t>(fde - decoded.fdes.data());
    if (sframe::is_outermost_throughout(*fde, decoded.version)) {
      *kind = put(decoded, function, 0, *row);
      return;
    }
    const sframe::Fre* const fre = sframe::find_fre(*fde, pc - fde->start);
    if (fre != nullptr) *kind = put(decoded, function, static_cast<std::size_t>(fre - fde->fres.data()), *row);
  });
}

int sframe_gen_section_new(uint32_t abi, uint64_t address, sframe_gen_section** section) {
  return status_of([&] {
    require(section, "section");
    const sframe::AbiTraits* const traits =
        abi <= UINT8_MAX ? sframe::find_abi(static_cast<std::uint8_t>(abi)) : nullptr;
    if (traits == nullptr) throw WrongArgument("abi is " + std::to_string(abi) + ", which is not known");
    sframe::Section made;
    made.address = address;
    made.abi = traits->abi;
    made.endian = traits->endian;
    *section = new sframe_gen_section{std::move(made)};
  });
}

int sframe_gen_section_add_function(sframe_gen_section* section, const sframe_gen_function* function) {
  return status_of([&] {
    require(section, "section");
    require(function, "function");
    require_size(*function, "function");
    if (function->repeat_size > UINT8_MAX) throw WrongArgument("function->repeat_size is above 255");
    sframe::Fde fde;
    fde.start = function->start;
    fde.size = function->code_size;
    fde.signal_frame = function->signal_frame != 0;
    fde.b_key = function->b_key != 0;
    fde.repeat_size = static_cast<std::uint8_t>(function->repeat_size);
    if (fde.repeat_size != 0) fde.pc_type = sframe::PcType::Mask;
    section->decoded.fdes.push_back(std::move(fde));
  });
}

int sframe_gen_section_add_row(sframe_gen_section* section, int kind, const sframe_unwind_row* row,
                               uint32_t pc_offset) {
  return status_of([&] {
    require(section, "section");
    if (section->decoded.fdes.empty()) throw WrongArgument("section has no function");
    sframe::Fre fre{pc_offset, std::nullopt};
    if (kind == SFRAME_UNWIND_LOOKUP_ROW) {
      require(row, "row");
      fre.recovery = {rule_of(row->cfa), rule_of(row->return_address), rule_of(row->frame_pointer),
                      row->mangled_ra != 0};
    } else if (kind != SFRAME_UNWIND_LOOKUP_OUTERMOST) {
      throw WrongArgument("kind is neither SFRAME_UNWIND_LOOKUP_ROW nor SFRAME_UNWIND_LOOKUP_OUTERMOST");
    }
    section->decoded.fdes.back().fres.push_back(fre);
  });
}

int sframe_gen_encode(const sframe_gen_section* section, const sframe_gen_options* options, void** bytes,
                      size_t* size) {
  return status_of([&] {
    require(section, "section");
    require(bytes, "bytes");
    require(size, "size");
    const std::vector<std::byte> made = sframe::encode(section->decoded, encoding_of(options, section->decoded));
    *bytes = copy_of(made);
    *size = made.size();
  });
}
}
