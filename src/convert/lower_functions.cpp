#include "convert/lower_functions.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "convert/coverage.hpp"
#include "convert/stub_merge.hpp"
#include "elf/machine.hpp"
#include "elf/notes.hpp"
#include "support/text.hpp"
#include "support/workers.hpp"

namespace sframe_gen::convert {

namespace {

/// A debug file keeps the headers of all sections. If its code is at other addresses, its CFI
/// describes other bytes than ours. Equal build-ids do not rule that out: a prelinker or a fixed build-id can part the
/// two.
void check_same_addresses(const elf::Image& image, const elf::Image& debug) {
  constexpr std::uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
  for (const elf::Section& section : debug.sections()) {
    if ((section.header.sh_flags & code) != code || section.header.sh_size == 0) continue;
    if (!image.has_section_headers() && !image.is_code(section.header.sh_addr, section.header.sh_size)) {
      throw Refused(debug.name(), "has " + section.name + " at " + hex(section.header.sh_addr) + ", but " +
                                      image.name() + " has no code there");
    }
    const elf::Section* elsewhere = nullptr;
    bool in_place = false;
    for (const elf::Section& other : image.sections()) {
      if (other.name != section.name) continue;
      elsewhere = &other;
      in_place = in_place || other.header.sh_addr == section.header.sh_addr;
    }
    if (elsewhere == nullptr || in_place) continue;
    throw Refused(debug.name(), "has " + section.name + " at " + hex(section.header.sh_addr) + ", but " + image.name() +
                                    " has it at " + hex(elsewhere->header.sh_addr));
  }
}

void check_build_id(const elf::Image& image, const elf::Image& debug) {
  const auto expected = elf::build_id(image);
  const auto found = elf::build_id(debug);
  if (expected.empty())
    throw Refused(image.name(),
                  "has no build-id to match " + debug.name() + " by (--ignore-build-id takes it unmatched)");
  if (!std::equal(expected.begin(), expected.end(), found.begin(), found.end())) {
    throw Refused(debug.name(),
                  "has another build-id than " + image.name() + " (--ignore-build-id takes it all the same)");
  }
}

}  // namespace

elf::Image open_debug_file(const elf::Image& image, const std::filesystem::path& path, bool ignore_build_id) {
  elf::Image debug = elf::Image::open(path);
  if (debug.header().e_machine != image.header().e_machine || debug.endian() != image.endian()) {
    throw Refused(path.string(), "is for another machine than " + image.name());
  }
  // Only relocations say what an object's call frame information points to.
  if (debug.is_object() != image.is_object()) {
    throw Refused(path.string(), debug.is_object() ? "is a relocatable object, but " + image.name() + " is linked"
                                                   : "is linked, but " + image.name() + " is a relocatable object");
  }
  if (!ignore_build_id) check_build_id(image, debug);
  check_same_addresses(image, debug);
  return debug;
}

std::optional<elf::Image> open_debug_file(const elf::Image& image, const ConvertOptions& options) {
  if (!options.debug_file) return {};
  return open_debug_file(image, *options.debug_file, options.ignore_build_id);
}

namespace {

/// With two threads libssl.so.3 (1,291 functions) takes 0.95 times as long as with one, libX11.so.6 (1,925) 0.87 times
/// and bash (2,277) 0.96 times; libm.so.6 (873) gains nothing.
constexpr std::size_t functions_per_thread = 512;
/// More than one: a thread that has the file's copy to make first takes fewer. With 4, libgio-2.0.so.0 takes 4 %
/// longer.
constexpr std::size_t parts_per_thread = 8;

emit::compact::IsPadding padding_of(const CodeGaps* gaps) {
  if (gaps == nullptr) return nullptr;
  return [gaps](std::uint64_t begin, std::uint64_t end) { return gaps->is_padding(begin, end); };
}

/// The functions of a part: encoded, or, for a compact section, rows that are yet to be cut.
struct LoweredPart {
  LoweredPart(const emit::RuleTable& rules, const CodeGaps* gaps)
      : encoder(rules.dialect()), rows(rules, padding_of(gaps)) {}

  void append(LoweredPart&& other) {
    encoder.append(std::move(other.encoder));
    rows.append(std::move(other.rows));
    coverage.append(other.coverage);
  }

  emit::SectionEncoder encoder;
  emit::compact::RowStream rows;
  Coverage coverage;
};

/// Code that DWARF describes and SFrame cannot is not padding, whatever its instructions.
void add_rows(const emit::SplitFunction& split, emit::compact::RowStream& stream) {
  const bool has_holes = !split.holes.empty();
  if (has_holes) stream.forbid_gap();
  for (const emit::NumberedFde& fde : split.fdes) {
    stream.add(fde);
    if (has_holes) stream.forbid_gap();
  }
}

/// The stubs from `begin` up to `end` go with the part. `reader` is one thread's.
LoweredPart lower_part(const cfi::FrameSource& source, const cfi::FrameSource::Part& part, const stubs::Found& stubs,
                       std::uint64_t begin, std::uint64_t end, emit::RuleTable& rules, const CodeGaps* gaps,
                       cfi::FrameReader& reader) {
  LoweredPart lowered(rules, gaps);
  const bool compact = rules.dialect().compact_rows != 0;
  // The descriptors of all other parts go after those of the first.
  const std::size_t part_size = part.end - part.begin, functions = part.begin == 0 ? source.size() : part_size;
  if (compact) {
    lowered.rows.expect(part_size);
  } else {
    // Rows take 0.6 to 0.93 of the bytes of what they are made from. Memory that grows grows to twice its size.
    const std::uint64_t share = source.size() == 0 ? 0 : source.record_bytes() * part_size / source.size();
    lowered.encoder.expect(functions + functions / 8, share - share / 16);
  }
  const auto put = [&](const emit::SplitFunction& split) {
    if (compact) return add_rows(split, lowered.rows);
    for (const emit::NumberedFde& fde : split.fdes) lowered.encoder.add(fde, rules);
  };
  StubMerge merge(stubs, begin, end, rules, put, lowered.coverage);
  lowered.coverage.dropped.duplicate =
      reader.for_each_function(part, [&](const cfi::Function& function) { merge.add(function); });
  merge.finish();
  return lowered;
}

Coverage new_coverage(const cfi::FrameSource& source, const emit::Dialect& dialect) {
  Coverage coverage;
  coverage.version = dialect.version->version;
  coverage.abi = dialect.abi->abi;
  coverage.dropped = source.dropped();
  return coverage;
}

}  // namespace

void take_compacted(emit::compact::Compacted compacted, LoweredFunctions& all) {
  all.encoder = std::move(compacted.encoder);
  all.coverage.rows = all.encoder.fre_count();
  all.coverage.flexible_descriptors = compacted.flexible_descriptors;
  all.coverage.mask_descriptors = compacted.mask_descriptors;
  all.coverage.default_descriptors =
      all.encoder.fde_count() - compacted.flexible_descriptors - compacted.mask_descriptors;
  all.coverage.compaction = compacted.saved;
}

stubs::Found stubs_for(const elf::Image& image, const ConvertOptions& options) {
  return options.stubs ? stubs::find_stubs(image) : stubs::Found{};
}

emit::Dialect dialect_for(const elf::Image& image, const OutputFormat& format) {
  const elf::Machine* const machine = elf::find_machine(image);
  if (machine == nullptr) throw Refused(image.name(), "is for a machine that SFrame has no identifier for");
  return emit::make_dialect(format, machine->abi, image.name());
}

const elf::NewSection& section_for(const OutputFormat& format) {
  return format.version == sframe::Version::CtfFrame ? elf::ctf_frame_section : elf::sframe_section;
}

sframe::Family family_of(const OutputFormat& format) {
  return format.version == sframe::Version::CtfFrame ? sframe::Family::CtfFrame : sframe::Family::SFrame;
}

namespace {

template <typename Encode>
auto encode_within_reach(const std::string& file, Encode encode) {
  try {
    return encode();
  } catch (const std::range_error& out_of_reach) {
    throw Refused(file, out_of_reach.what());
  }
}

}  // namespace

std::vector<std::byte> encode_at(std::uint64_t address, const emit::SectionEncoder& encoder, const std::string& file) {
  return encode_within_reach(file, [&] { return encoder.encode(address); });
}

BytePieces take_encoded(std::uint64_t address, emit::SectionEncoder& encoder, const std::string& file) {
  return encode_within_reach(file, [&] { return encoder.release(address); });
}

LoweredFunctions lower_functions(const cfi::FrameSource& source, const stubs::Found& stubs,
                                 const emit::Dialect& dialect, const CodeGaps* gaps) {
  LoweredFunctions all{emit::SectionEncoder(dialect), new_coverage(source, dialect)};
  const std::size_t threads = workers_for(source.size(), functions_per_thread);
  auto parts = source.parts(threads == 1 ? 1 : threads * parts_per_thread);
  if (parts.empty()) parts.push_back({0, 0});
  emit::RuleTable rules(dialect);
  const auto lower = [&](std::size_t i, cfi::FrameReader& reader) {
    const std::uint64_t begin = i == 0 ? 0 : source.start_of(parts[i]);
    const std::uint64_t end = i + 1 == parts.size() ? UINT64_MAX : source.start_of(parts[i + 1]);
    return lower_part(source, parts[i], stubs, begin, end, rules, gaps, reader);
  };
  std::vector<std::optional<LoweredPart>> done(parts.size());
  std::vector<std::exception_ptr> failures(parts.size());
  std::vector<std::unique_ptr<cfi::FrameReader>> readers(threads);
  const auto lower_or_fail = [&](std::size_t i, std::size_t number) {
    try {
      auto& reader = readers[number];
      if (!reader) reader = std::make_unique<cfi::FrameReader>(source, rules);
      done[i].emplace(lower(i, *reader));
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  parallel_for(parts.size(), threads, lower_or_fail);
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  LoweredPart lowered = std::move(*done[0]);
  for (std::size_t i = 1; i < done.size(); ++i) {
    lowered.append(std::move(*done[i]));
    done[i].reset();
  }
  all.coverage.append(lowered.coverage);
  if (dialect.compact_rows == 0) {
    all.encoder = std::move(lowered.encoder);
  } else {
    // All code was looked at, and would count as memory beside that of the search.
    Async letting_go;
    if (gaps != nullptr && threads > 1) letting_go = async([gaps] { gaps->let_go(); });
    take_compacted(emit::compact::encode(lowered.rows, dialect), all);
    if (letting_go.valid()) letting_go.get();
  }
  return all;
}

LoweredFunctions lower_functions_of(const elf::Image& image, const elf::Image& cfi_image, const stubs::Found& stubs,
                                    const emit::Dialect& dialect, bool count_code) {
  return lower_functions_of(image, cfi::FrameSource(image, cfi_image), stubs, dialect, count_code);
}

LoweredFunctions lower_functions_of(const elf::Image& image, const cfi::FrameSource& source, const stubs::Found& stubs,
                                    const emit::Dialect& dialect, bool count_code) {
  if (source.empty()) {
    throw Refused(image.name(),
                  "has no call frame information (.eh_frame or .debug_frame); build it with "
                  "-fasynchronous-unwind-tables, or give its debug file with --cfi-from");
  }
  try {
    std::optional<CodeGaps> gaps;
    // Where an FDE could not be read is not known; what looks like padding may be code of its function.
    const bool knows_all_functions = source.dropped().unreadable == 0;
    if (dialect.compact_rows != 0 && knows_all_functions) gaps.emplace(image, dialect.abi->abi);
    LoweredFunctions lowered = lower_functions(source, stubs, dialect, gaps ? &*gaps : nullptr);
    if (lowered.encoder.fde_count() == 0) throw Refused(image.name(), why_no_function(lowered.coverage));
    if (count_code) lowered.coverage.code = code_coverage(image, source, stubs, lowered.coverage.holes);
    return lowered;
  } catch (const std::length_error& too_much) {
    throw Refused(image.name(), too_much.what());
  }
}

}  // namespace sframe_gen::convert
