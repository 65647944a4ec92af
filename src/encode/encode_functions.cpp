#include "encode/encode_functions.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "elf/machine.hpp"
#include "encode/code_coverage.hpp"
#include "encode/coverage.hpp"
#include "encode/row_sources.hpp"
#include "encode/stub_merge.hpp"
#include "rows/proof/file_proof.hpp"
#include "support/text.hpp"
#include "support/workers.hpp"

namespace sframe_gen::encode {

namespace {

/// With two threads libssl.so.3 (1,291 functions) takes 0.95 times as long as with one, libX11.so.6 (1,925) 0.87 times
/// and bash (2,277) 0.96 times; libm.so.6 (873) gains nothing.
constexpr std::size_t functions_per_thread = 512;
/// More than one: a thread that has the file's copy to make first takes fewer. With 4, libgio-2.0.so.0 takes 4 %
/// longer.
constexpr std::size_t parts_per_thread = 8;

/// For one thread. Null: there is none.
emit::IsPadding new_is_padding(const CodeGaps* gaps) {
  if (gaps == nullptr) return nullptr;
  return [gaps, window = std::make_shared<CodeWindow>(gaps->window())](std::uint64_t begin, std::uint64_t end) {
    return gaps->is_padding(begin, end, *window);
  };
}

/// What the parts of a file have in common.
struct Input {
  const cfi::FrameSource& source;
  const rows::stubs::StubList& stubs;
  const RangeSet& disproved;
  cfi::RuleTable& rules;
  emit::RuleTranslations& translations;
};

/// The functions of a part: encoded, or, for a compact section, rows that are yet to be cut.
class EncodedPart {
 public:
  EncodedPart(const Input& input, const emit::IsPadding& is_padding)
      : encoder(input.translations.encoded_rules().dialect()), rows(input.translations.encoded_rules(), is_padding) {}

  /// Reads the functions of a part, and encodes them and the stubs that start in `pcs`. `reader` is one thread's.
  void encode(const Input& input, const cfi::FrameSource::Part& functions, Range pcs, cfi::FrameReader& reader) {
    expect(input, functions);
    emit::SplitFunction split;
    const auto encode_one = [&](const cfi::Function& function) -> const emit::SplitFunction& {
      if (input.stubs.knows_sections)
        emit::split_function(function, input.translations, split);
      else
        emit::split_function(without_unknown_stubs(function, input.rules), input.translations, split);
      put(split, input.translations.encoded_rules());
      return split;
    };
    StubMerge stubs(input.stubs, pcs, input.rules, input.translations.encoded_rules().dialect(), encode_one, coverage);
    const auto encode_next = [&](const cfi::Function& read) {
      std::optional<cfi::Function> rest;
      if (input.disproved.overlaps({read.start, read.end()}))
        rest = without_disproved(read, input.disproved, input.rules);
      const cfi::Function& function = rest ? *rest : read;
      if (stubs.affect(function)) return stubs.add(function);
      const emit::SplitFunction& encoded = encode_one(function);
      count(function.size, encoded, coverage);
    };
    coverage.dropped.duplicate = reader.for_each_function(functions, encode_next);
    stubs.finish();
  }

  /// Adds what comes after.
  void append(EncodedPart&& other) {
    encoder.append(std::move(other.encoder));
    rows.append(std::move(other.rows));
    coverage.append(other.coverage);
  }

  emit::SectionEncoder encoder;
  emit::compact::RowStream rows;
  Coverage coverage;

 private:
  void expect(const Input& input, const cfi::FrameSource::Part& part) {
    const std::size_t part_size = part.end - part.begin;
    if (input.translations.encoded_rules().dialect().compact_rows != 0) return rows.expect(part_size);
    // The descriptors of all other parts go after those of the first.
    const std::size_t functions = part.begin == 0 ? input.source.size() : part_size;
    encoder.expect(functions + functions / 8);
  }

  void put(const emit::SplitFunction& split, const emit::EncodedRules& encoded_rules) {
    const bool is_compact = encoded_rules.dialect().compact_rows != 0;
    // Code that DWARF describes and SFrame cannot is not padding, whatever its instructions.
    const bool has_holes = !split.holes.empty();
    if (is_compact && has_holes) rows.forbid_gap();
    for (const emit::FdeRows& fde : split.fdes) {
      if (!is_compact) {
        encoder.add(fde, encoded_rules);
        continue;
      }
      rows.add(fde);
      if (has_holes) rows.forbid_gap();
    }
  }
};

Coverage new_coverage(const cfi::FrameSource& source, const emit::Dialect& dialect) {
  Coverage coverage;
  coverage.version = dialect.version->version;
  coverage.abi = dialect.abi->abi;
  coverage.dropped = source.dropped();
  if (source.others() != nullptr) {
    coverage.go.replaced = source.replaced_by_others();
    const std::vector<Range>& ranges = source.others()->ranges();
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (source.others()->source_of(i) != RowSource::GoTable) continue;
      ++coverage.go.functions;
      coverage.go.bytes += ranges[i].size();
    }
  }
  return coverage;
}

template <typename Encode>
auto encode_within_reach(const std::string& file, Encode encode) {
  try {
    return encode();
  } catch (const std::range_error& out_of_reach) {
    throw Refused(file, out_of_reach.what());
  } catch (const std::length_error& too_much) {
    throw Refused(file, too_much.what());
  }
}

/// Counts functions that end in a call without padding after it, if the next function has a row there. Readers that
/// look up the return address itself would use that row. After padding was covered: one byte of it is no call.
std::uint64_t calls_at_next_function(const emit::SectionEncoder& encoder, const CodeGaps& gaps) {
  const auto entries = encoder.descriptors();
  std::uint64_t calls = 0;
  for (std::size_t i = 0; i + 1 < entries.size(); ++i) {
    const std::uint64_t end = entries[i].start + entries[i].size;
    if (end == entries[i + 1].start && gaps.ends_in_call(end)) ++calls;
  }
  return calls;
}

/// Executable segments, but for the first, that begin with no function: before its first one, readers find the last
/// function of another segment there, and Linux drops the whole section then.
std::vector<std::uint64_t> starts_without_function(const elf::Image& image, const emit::SectionEncoder& encoder) {
  std::vector<std::uint64_t> starts;
  const auto entries = encoder.descriptors();
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const auto after = std::ranges::upper_bound(entries, segment.p_vaddr, {}, &emit::SectionEncoder::Descriptor::start);
    if (after == entries.begin()) continue;
    const auto& last = *std::prev(after);
    if (segment.p_vaddr > last.start && segment.p_vaddr - last.start >= last.size) starts.push_back(segment.p_vaddr);
  }
  std::ranges::sort(starts);
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  return starts;
}

/// Code that DWARF describes and SFrame cannot.
RangeSet holes_of(const Coverage& coverage) {
  std::vector<Range> holes;
  for (const NamedCoverageHole& named : coverage.holes) holes.push_back({named.hole.begin, named.hole.end});
  return RangeSet(std::move(holes));
}

/// All PCs that stubs have to themselves.
RangeSet places_of(const rows::stubs::StubList& stubs) {
  std::vector<Range> places = stubs.sections;
  for (const rows::stubs::StubRun& run : stubs.runs) places.push_back({run.start, run.end()});
  return RangeSet(std::move(places));
}

/// Of a file whose functions are all refused, if it has any.
std::string text_of_nothing_proved(const SynthesisCoverage& synthesized) {
  if (synthesized.refused.empty()) return "--synthesize finds no function";
  std::string reasons;
  std::uint64_t count = 0;
  for (const auto& [reason, functions] : synthesized.refused) {
    reasons += (reasons.empty() ? "" : ", ") + std::to_string(functions) + ' ' + reason;
    count += functions;
  }
  return "--synthesize proves none of " + count_of(count, "function") + " (" + reasons + ')';
}

}  // namespace

void take_compacted(emit::compact::Compacted compacted, EncodedFunctions& all) {
  all.encoder = std::move(compacted.encoder);
  all.coverage.rows = all.encoder.fre_count();
  all.coverage.flexible_descriptors = compacted.flexible_descriptors;
  all.coverage.mask_descriptors = compacted.mask_descriptors;
  all.coverage.default_descriptors =
      all.encoder.fde_count() - compacted.flexible_descriptors - compacted.mask_descriptors;
  all.coverage.compaction = compacted.saved;
}

rows::stubs::StubList stubs_for(const elf::Image& image, const ConvertOptions& options) {
  return options.stubs ? rows::stubs::find_stubs(image) : rows::stubs::StubList{};
}

emit::Dialect dialect_for(const elf::Image& image, const OutputFormat& format) {
  const elf::Machine* const machine = elf::find_machine(image);
  if (machine == nullptr) throw Refused(image.name(), "unsupported architecture (SFrame has no ABI for it)");
  return emit::make_dialect(format, machine->abi, image.name());
}

const elf::NewSection& section_for(const OutputFormat& format) {
  return format.version == sframe::Version::CtfFrame ? elf::ctf_frame_section : elf::sframe_section;
}

sframe::Family family_of(const OutputFormat& format) {
  return format.version == sframe::Version::CtfFrame ? sframe::Family::CtfFrame : sframe::Family::SFrame;
}

std::vector<std::byte> encode_at(std::uint64_t address, const emit::SectionEncoder& encoder, const std::string& file) {
  return encode_within_reach(file, [&] { return encoder.encode(address); });
}

ByteChunks take_encoded(std::uint64_t address, emit::SectionEncoder& encoder, const std::string& file) {
  return encode_within_reach(file, [&] { return encoder.release(address); });
}

EncodedFunctions encode_functions(const cfi::FrameSource& source, const rows::stubs::StubList& stubs,
                                  const emit::Dialect& dialect, const CodeGaps* gaps, const RangeSet& disproved) {
  cfi::RuleTable rules;
  emit::EncodedRules encoded_rules(dialect);
  emit::RuleTranslations translations(rules, encoded_rules);
  const Input input{source, stubs, disproved, rules, translations};
  const std::size_t threads = workers_for(source.size(), functions_per_thread);
  auto parts = source.parts(threads == 1 ? 1 : threads * parts_per_thread);
  if (parts.empty()) parts.push_back({0, 0});
  std::vector<std::optional<EncodedPart>> done(parts.size());
  std::vector<std::exception_ptr> failures(parts.size());
  std::vector<std::unique_ptr<cfi::FrameReader>> readers(threads);
  std::vector<emit::IsPadding> is_padding(threads);
  parallel_for(parts.size(), threads, [&](std::size_t i, std::size_t thread) {
    try {
      if (!readers[thread]) {
        readers[thread] = std::make_unique<cfi::FrameReader>(source, rules);
        is_padding[thread] = new_is_padding(gaps);
      }
      const std::uint64_t begin = i == 0 ? 0 : source.start_of(parts[i]);
      const std::uint64_t end = i + 1 == parts.size() ? UINT64_MAX : source.start_of(parts[i + 1]);
      done[i].emplace(input, is_padding[thread]).encode(input, parts[i], {begin, end}, *readers[thread]);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  EncodedPart whole = std::move(*done[0]);
  for (std::size_t i = 1; i < done.size(); ++i) {
    whole.append(std::move(*done[i]));
    done[i].reset();
  }
  EncodedFunctions all{std::move(whole.encoder), new_coverage(source, dialect)};
  all.coverage.append(whole.coverage);
  if (dialect.compact_rows == 0) return all;
  // All call frame information was read, and would count as memory beside that of the search.
  Async dropping;
  if (gaps != nullptr && threads > 1) dropping = async([gaps] { gaps->drop_pages(); });
  take_compacted(emit::compact::encode(whole.rows, dialect), all);
  if (dropping.valid()) dropping.get();
  return all;
}

void cover_padding(const elf::Image& image, const CodeGaps* gaps, const RangeSet& code, std::uint64_t smallest,
                   EncodedFunctions& all) {
  const auto new_is_padding_here = [&]() -> emit::IsPadding {
    return [&, is_padding = new_is_padding(gaps)](std::uint64_t begin, std::uint64_t end) {
      return end - begin >= smallest && !code.overlaps({begin, end}) && is_padding(begin, end);
    };
  };
  if (gaps != nullptr) all.encoder.extend_over_padding(new_is_padding_here);
  if (!all.encoder.splits_descriptor()) return;
  const std::vector<std::uint64_t> starts = starts_without_function(image, all.encoder);
  all.encoder.add_without_rows(starts);
  all.coverage.default_descriptors += starts.size();
}

EncodedFunctions encode_file(const elf::Image& image, const elf::Image& cfi_image, const rows::stubs::StubList& stubs,
                             const emit::Dialect& dialect, const ConvertOptions& options) {
  const char* const asked = option_of_proof(options);
  const auto go = go_functions_of(image);
  std::optional<cfi::FrameSource> source;
  source.emplace(image, cfi_image, go);
  if (asked == nullptr) return encode_source(image, *source, stubs, dialect, options.count_code);
  const rows::proof::ProofRequest request{asked, options.omit_disproved, options.synthesize,
                                          options.bounded_tables_only,
                                          places_of(without_code_of_functions(stubs, *source))};
  rows::proof::ConversionProof proof =
      encode_within_reach(image.name(), [&] { return rows::proof::prove_for_conversion(image, *source, request); });
  if (options.synthesize && source->empty() && proof.pieces.empty())
    throw Refused(image.name(), "no call frame information, and " + text_of_nothing_proved(proof.synthesized));
  if (!options.count_code) proof.synthesized.found.clear();
  if (!proof.pieces.empty())
    source.emplace(image, cfi_image, with_proved_pieces(go, std::move(proof.pieces), std::move(proof.rules)));
  EncodedFunctions encoded = encode_source(image, *source, stubs, dialect, options.count_code, proof.contradicted,
                                           options.synthesize ? &proof.lacking : nullptr);
  encoded.coverage.synthesized = std::move(proof.synthesized);
  return encoded;
}

EncodedFunctions encode_source(const elf::Image& image, const cfi::FrameSource& source,
                               const rows::stubs::StubList& look_alikes, const emit::Dialect& dialect, bool count_code,
                               const RangeSet& disproved, const std::vector<rows::proof::Lack>* lacking) {
  if (source.empty()) {
    if (!image.has_section_headers())
      throw Refused(image.name(), "no section headers, and no PT_GNU_EH_FRAME to find .eh_frame by");
    throw Refused(image.name(),
                  "no call frame information (.eh_frame or .debug_frame); build it with "
                  "-fasynchronous-unwind-tables, or give its debug file with --cfi-from");
  }
  try {
    const rows::stubs::StubList stubs = without_code_of_functions(look_alikes, source);
    std::optional<CodeGaps> gaps;
    const bool is_compact = dialect.compact_rows != 0, covers = dialect.covers_padding && !image.is_object();
    // Where an FDE could not be read is not known; what looks like padding may be code of its function.
    const bool knows_all_functions = source.dropped().unreadable == 0;
    if ((is_compact || covers) && knows_all_functions) gaps.emplace(image, dialect.abi->abi);
    EncodedFunctions encoded =
        encode_functions(source, stubs, dialect, is_compact && gaps ? &*gaps : nullptr, disproved);
    if (encoded.encoder.fde_count() == 0) throw Refused(image.name(), why_no_function(encoded.coverage));
    if (covers) cover_padding(image, gaps ? &*gaps : nullptr, holes_of(encoded.coverage), 1, encoded);
    if (count_code) {
      encoded.coverage.code = code_coverage(image, source, stubs, encoded.coverage.holes, lacking);
      if (gaps) encoded.coverage.code->calls_at_next_function = calls_at_next_function(encoded.encoder, *gaps);
    }
    return encoded;
  } catch (const std::length_error& too_much) {
    throw Refused(image.name(), too_much.what());
  }
}

}  // namespace sframe_gen::encode
