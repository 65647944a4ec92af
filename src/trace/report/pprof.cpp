#include "trace/report/pprof.hpp"

#include <protozero/pbf_writer.hpp>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>

#include "elf/notes.hpp"
#include "support/text.hpp"
#include "trace/perf/event_names.hpp"

namespace sframe_gen::trace::report {

namespace {

/// profile.proto of pprof: the numbers of its fields.
namespace profile_field {
enum : protozero::pbf_tag_type {
  SampleType = 1,
  Sample = 2,
  Mapping = 3,
  Location = 4,
  Function = 5,
  String = 6,
  TimeNs = 9,
  DurationNs = 10,
  PeriodType = 11,
  Period = 12,
  Comment = 13,
  DefaultSampleType = 14,
};
}
namespace sample_field {
enum : protozero::pbf_tag_type { Location = 1, Value = 2, Label = 3 };
}
namespace label_field {
enum : protozero::pbf_tag_type { Key = 1, Text = 2, Number = 3 };
}
namespace mapping_field {
enum : protozero::pbf_tag_type {
  Id = 1,
  Begin = 2,
  End = 3,
  FileOffset = 4,
  FileName = 5,
  BuildId = 6,
  HasFunctions = 7,
  HasFilenames = 8,
  HasLineNumbers = 9,
  HasInlineFrames = 10
};
}
namespace location_field {
enum : protozero::pbf_tag_type { Id = 1, Mapping = 2, Address = 3, Line = 4 };
}
namespace line_field {
enum : protozero::pbf_tag_type { Function = 1, Line = 2 };
}
namespace function_field {
enum : protozero::pbf_tag_type { Id = 1, Name = 2, SystemName = 3, FileName = 4 };
}

/// The strings that each profile has, after the empty one.
constexpr std::array fixed_texts{"samples", "count", "cpu", "nanoseconds", "pid", "tid", "comm", "thread_comm"};
enum FixedText : std::uint64_t { Samples = 1, Count, Cpu, Nanoseconds, Pid, Tid, Comm, ThreadComm };

void add_value_type(protozero::pbf_writer& profile, protozero::pbf_tag_type field, std::uint64_t type,
                    std::uint64_t unit) {
  protozero::pbf_writer value_type(profile, field);
  value_type.add_uint64(1, type);
  value_type.add_uint64(2, unit);
}

void add_label(protozero::pbf_writer& sample, std::uint64_t key, protozero::pbf_tag_type field, std::uint64_t value) {
  protozero::pbf_writer label(sample, sample_field::Label);
  label.add_uint64(label_field::Key, key);
  label.add_uint64(field, value);
}

bool is_in_file(const walk::Frame& frame) {
  return frame.location != nullptr && !frame.location->is_of_no_file() && frame.location->of->opened.file != nullptr;
}

/// As gzip(1) writes it, without a name and a time.
std::string gzipped(const std::string& bytes) {
  constexpr int with_gzip_header = 15 + 16, memory_level = 8;
  z_stream stream{};
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, with_gzip_header, memory_level, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    throw std::bad_alloc();
  std::string packed;
  std::array<char, std::size_t{1} << 16U> piece{};
  constexpr std::size_t most_at_once = std::size_t{1} << 30U;
  std::size_t done = 0;
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    if (stream.avail_in == 0 && done < bytes.size()) {
      const std::size_t size = std::min(most_at_once, bytes.size() - done);
      // zlib does not write there.
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + done));  // NOLINT
      stream.avail_in = static_cast<uInt>(size);
      done += size;
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    result = ::deflate(&stream, done == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    packed.append(piece.data(), piece.size() - stream.avail_out);
  }
  ::deflateEnd(&stream);
  return packed;
}

}  // namespace

PprofProfile::PprofProfile() {
  text("");
  for (const char* fixed : fixed_texts) text(fixed);
}

/// Readers refuse a whole profile for a name that is no UTF-8.
PprofProfile::Id PprofProfile::text(std::string_view text) {
  const auto [found, is_new] = text_ids_.try_emplace(valid_utf8(text), texts_.size());
  if (is_new) texts_.push_back(&found->first);
  return found->second;
}

PprofProfile::Id PprofProfile::function(std::string_view name, std::string_view symbol, std::string_view source_file) {
  const Function function{text(name), text(symbol), text(source_file)};
  const auto [found, is_new] = function_ids_.try_emplace(function, functions_.size() + 1);
  if (is_new) functions_.push_back(function);
  return found->second;
}

PprofProfile::Id PprofProfile::mapping_named(std::string_view name) {
  const Id text = this->text(name.empty() ? "[unknown]" : name);
  const auto [found, is_new] = other_mappings_.try_emplace(text, mappings_.size() + 1);
  if (is_new) mappings_.push_back({.file_name = text});
  return found->second;
}

/// Addresses in a file are as its first segment with code has them.
PprofProfile::Id PprofProfile::mapping_of(const NamedFrame& named, const walk::Frame& frame) {
  if (!is_in_file(frame)) return mapping_named(named.file);
  const walk::CodeFile* const file = frame.location->of->opened.file.get();
  const auto [found, is_new] = file_mappings_.try_emplace(file, mappings_.size() + 1);
  if (!is_new) return found->second;
  Mapping mapping{.file_name = text(named.file), .build_id = text(elf::hex_digits(elf::build_id(file->image())))};
  for (const Elf64_Phdr& segment : file->image().segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    if (mapping.end == 0) {
      mapping.begin = segment.p_vaddr;
      mapping.file_offset = segment.p_offset;
    }
    mapping.end = std::max(mapping.end, segment.p_vaddr + segment.p_memsz);
  }
  mappings_.push_back(mapping);
  return found->second;
}

PprofProfile::Id PprofProfile::location(Id mapping, std::uint64_t address, std::vector<Line> lines) {
  const Id function = lines.empty() ? 0 : lines.back().function;
  const auto [found, is_new] = location_ids_.try_emplace({mapping, address, function}, locations_.size() + 1);
  if (!is_new) return found->second;
  Mapping& of_all = mappings_[mapping - 1];
  of_all.has_lines = of_all.has_lines || (!lines.empty() && lines.front().line != 0);
  of_all.has_inlined = of_all.has_inlined || lines.size() > 1;
  locations_.push_back({mapping, address, std::move(lines)});
  return found->second;
}

/// A function without a name has none, unless calls are inlined there.
std::vector<PprofProfile::Line> PprofProfile::lines_of(const NamedFrame& named) {
  std::vector<Line> lines;
  const auto add = [&](std::string_view name, std::string_view symbol, const walk::SourceLine& place) {
    lines.push_back({function(name.empty() ? "[unknown]" : name, symbol, place.file), place.line});
  };
  for (const walk::InlinedCall& call : named.inlined) add(call.function, call.symbol, call.place);
  if (!named.function.empty() || !lines.empty()) add(named.function, named.symbol, named.place);
  return lines;
}

PprofProfile::Id PprofProfile::location_of(const walk::Frame& frame) {
  if (frame.left_out != 0) return location(mapping_named({}), 0, {{function(text_of_left_out(frame), {}, {}), 0}});
  Id& id = frame_ids_[{frame.location, frame.pc, frame.pc_is_exact}];
  if (id == 0) {
    const NamedFrame named = trace::report::named(frame);
    const std::uint64_t bias = is_in_file(frame) ? frame.location->bias : 0;
    id = location(mapping_of(named, frame), frame.instruction() - bias, lines_of(named));
  }
  return id;
}

void PprofProfile::add(recorded::KernelNames& kernel, const recorded::Sample& sample) {
  key_.assign({static_cast<Id>(sample.event), static_cast<Id>(sample.process), static_cast<Id>(sample.thread),
               text(sample.process_name), text(sample.name)});
  for (const std::uint64_t pc : sample.kernel) {
    const std::string_view name = kernel.name_at(pc);
    key_.push_back(location(mapping_named(recorded::kernel_file), pc, lines_of({.function = name, .file = {}})));
  }
  for (const walk::Frame& frame : sample.user.frames) key_.push_back(location_of(frame));
  samples_[key_].add(sample.period);
  totals_[sample.event].add(sample.period);
  if (!sample.program.empty()) ++programs_[std::string(sample.program)];
  if (first_ns_ == 0) first_ns_ = sample.time;
  last_ns_ = std::max(last_ns_, sample.time);
}

void PprofProfile::append_samples(std::string& bytes) const {
  protozero::pbf_writer profile(bytes);
  constexpr std::ptrdiff_t before_locations = 5;
  for (const auto& [key, value] : samples_) {
    protozero::pbf_writer sample(profile, profile_field::Sample);
    sample.add_packed_uint64(sample_field::Location, key.begin() + before_locations, key.end());
    std::vector<std::int64_t> values;
    for (const auto& [event, total] : totals_) {
      const Weight& own = event == key[0] ? value : Weight{};
      for (const std::uint64_t number : {own.samples, own.periods})
        values.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(number, INT64_MAX)));
    }
    sample.add_packed_int64(sample_field::Value, values.begin(), values.end());
    add_label(sample, Pid, label_field::Number, key[1]);
    add_label(sample, Tid, label_field::Number, key[2]);
    add_label(sample, Comm, label_field::Text, key[3]);
    add_label(sample, ThreadComm, label_field::Text, key[4]);
  }
}

namespace {

/// "page_faults": some stores refuse other letters in types of values.
std::string name_of_type(std::string_view event) {
  std::string name(event);
  for (char& letter : name) {
    const bool is_plain =
        (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    if (!is_plain) letter = '_';
  }
  return name;
}

}  // namespace

/// What the event itself counts.
PprofProfile::ValueType PprofProfile::own_value_of(const recorded::SampledEvent& event) {
  const bool is_alone = totals_.size() <= 1;
  const Id type = is_alone && event.counts_cpu_time ? Id{Cpu} : text(name_of_type(perf::without_modifiers(event.name)));
  return {type, event.counts_cpu_time ? Id{Nanoseconds} : Id{Count}};
}

/// Two values for each event that has samples: how many, and what the event counts.
void PprofProfile::append_types(std::string& bytes, const ProfileHead& head) {
  protozero::pbf_writer profile(bytes);
  if (totals_.empty()) totals_[0];
  for (const auto& [number, total] : totals_) {
    const recorded::SampledEvent& event = head.events[number];
    const ValueType own = own_value_of(event);
    const std::string samples = name_of_type(perf::without_modifiers(event.name)) + "_samples";
    add_value_type(profile, profile_field::SampleType, totals_.size() == 1 ? Id{Samples} : text(samples), Count);
    add_value_type(profile, profile_field::SampleType, own.type, own.unit);
  }
  const auto& [first, total] = *totals_.begin();
  const ValueType own = own_value_of(head.events[first]);
  add_value_type(profile, profile_field::PeriodType, own.type, own.unit);
  // Where periods differ, their mean.
  if (total.samples() != 0)
    profile.add_int64(profile_field::Period, static_cast<std::int64_t>(total.periods() / total.samples()));
  profile.add_int64(profile_field::DefaultSampleType, static_cast<std::int64_t>(own.type));
}

/// The mapping of the program with the most samples.
PprofProfile::Id PprofProfile::main_mapping() {
  const auto main = std::ranges::max_element(programs_, {}, [](const auto& program) { return program.second; });
  if (main == programs_.end()) return 0;
  const Id name = text(main->first);
  const auto found = std::ranges::find(mappings_, name, &Mapping::file_name);
  // It has no sample itself, if not there.
  return found != mappings_.end() ? static_cast<Id>(found - mappings_.begin()) + 1 : mapping_named(main->first);
}

/// pprof takes the first one for the program.
void PprofProfile::append_mappings(std::string& bytes) {
  const Id main = main_mapping();
  protozero::pbf_writer profile(bytes);
  const auto append = [&](Id id) {
    const Mapping& mapping = mappings_[id - 1];
    protozero::pbf_writer message(profile, profile_field::Mapping);
    message.add_uint64(mapping_field::Id, id);
    message.add_uint64(mapping_field::Begin, mapping.begin);
    message.add_uint64(mapping_field::End, mapping.end);
    message.add_uint64(mapping_field::FileOffset, mapping.file_offset);
    message.add_uint64(mapping_field::FileName, mapping.file_name);
    message.add_uint64(mapping_field::BuildId, mapping.build_id);
    message.add_bool(mapping_field::HasFunctions, true);
    // Without them, pprof looks for lines itself, and with them it leaves the functions as they are.
    if (mapping.has_lines) {
      message.add_bool(mapping_field::HasFilenames, true);
      message.add_bool(mapping_field::HasLineNumbers, true);
    }
    if (mapping.has_inlined) message.add_bool(mapping_field::HasInlineFrames, true);
  };
  if (main != 0) append(main);
  for (Id id = 1; id <= mappings_.size(); ++id)
    if (id != main) append(id);
}

void PprofProfile::append_places(std::string& bytes) const {
  protozero::pbf_writer profile(bytes);
  Id id = 0;
  for (const Location& location : locations_) {
    protozero::pbf_writer message(profile, profile_field::Location);
    message.add_uint64(location_field::Id, ++id);
    message.add_uint64(location_field::Mapping, location.mapping);
    message.add_uint64(location_field::Address, location.address);
    for (const Line& line : location.lines) {
      protozero::pbf_writer inner(message, location_field::Line);
      inner.add_uint64(line_field::Function, line.function);
      if (line.line != 0) inner.add_uint64(line_field::Line, line.line);
    }
  }
  id = 0;
  for (const Function& function : functions_) {
    protozero::pbf_writer message(profile, profile_field::Function);
    message.add_uint64(function_field::Id, ++id);
    message.add_uint64(function_field::Name, function.name);
    // pprof shortens a name that is equal to this one.
    message.add_uint64(function_field::SystemName, function.symbol);
    if (function.source_file != 0) message.add_uint64(function_field::FileName, function.source_file);
  }
}

void PprofProfile::write(std::ostream& out, const ProfileHead& head) {
  std::string bytes;
  append_types(bytes, head);
  append_samples(bytes);
  append_mappings(bytes);
  append_places(bytes);
  const Id comment = text(head.comment);
  protozero::pbf_writer profile(bytes);
  for (const std::string* text : texts_) profile.add_string(profile_field::String, *text);
  if (head.wall_minus_time)
    profile.add_int64(profile_field::TimeNs, static_cast<std::int64_t>(first_ns_) + *head.wall_minus_time);
  profile.add_uint64(profile_field::DurationNs, last_ns_ - first_ns_);
  if (comment != 0) profile.add_int64(profile_field::Comment, static_cast<std::int64_t>(comment));
  const std::string packed = gzipped(bytes);
  out.write(packed.data(), static_cast<std::streamsize>(packed.size()));
}

}  // namespace sframe_gen::trace::report
