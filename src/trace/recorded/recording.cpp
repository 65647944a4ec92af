#include "trace/recorded/recording.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "elf/machine.hpp"
#include "elf/notes.hpp"
#include "elf/own_vdso.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"
#include "trace/files/trusted_user.hpp"
#include "trace/perf/event_names.hpp"
#include "trace/walk/kernel_chain.hpp"
#include "trace/walk/registers.hpp"

namespace sframe_gen::trace {

namespace {

elf::Image open_vdso() {
  const elf::OwnVdso vdso = elf::own_vdso();
  if (vdso.address == 0) throw Refused("[vdso]", "this process has none to compare with");
  return elf::Image::of_bytes(vdso.bytes, "[vdso]");
}

enum class FileChange : std::uint8_t { None, OfInode, OfContents, OtherFile };

/// By its inode number, and by when it was changed last: another's bytes may have been written into it (cp), or the
/// number be that of a file that is gone. A new link or owner changes the inode only; the file's own time (mtime)
/// stays.
FileChange change_of(const FileIdentity& file, std::uint64_t inode, const FileIdentity& recording) {
  if (file.inode != inode) return FileChange::OtherFile;
  const std::pair recorded(recording.modified_s, recording.modified_ns);
  if (std::pair(file.changed_s, file.changed_ns) <= recorded) return FileChange::None;
  return std::pair(file.modified_s, file.modified_ns) <= recorded ? FileChange::OfInode : FileChange::OfContents;
}

/// A small recording could have any number of programs, each with a copy of many mappings. Real ones mostly run another
/// program at once.
constexpr std::uint64_t most_copied_parts = std::uint64_t{1} << 20U;

/// An entry that is no PC: how many frames were left out, or 0.
constexpr std::uint64_t most_left_out = std::uint64_t{1} << 16U;

// PERF_RECORD_MISC_*: whose code a record is about.
constexpr std::uint16_t cpu_mode = 7, kernel_mode = 1, user_mode = 2;

}  // namespace

void read_words(ByteReader& reader, std::uint64_t count, Endian endian, const char* what,
                std::vector<std::uint64_t>& words) {
  constexpr std::size_t size = 8;
  if (count > reader.left() / size) reader.fail(std::string(what) + ": more than there is room for");
  const auto bytes = reader.take(count * size, what);
  words.resize(count);
  if (endian == host_endian) {
    if (count != 0) std::memcpy(words.data(), bytes.data(), bytes.size());
    return;
  }
  for (std::size_t i = 0; i < count; ++i) words[i] = load<std::uint64_t>(bytes.subspan(i * size), endian);
}

namespace {

/// PERF_SAMPLE_READ: values of one counter, or of a group.
void skip_read(ByteReader& reader, std::uint64_t format) {
  constexpr std::uint64_t times = 3, id = 4, group = 8, lost = 16, word = 8;
  const std::uint64_t of_each = 1 + static_cast<std::uint64_t>(std::popcount(format & (id | lost)));
  std::uint64_t counters = 1;
  if ((format & group) != 0) counters = reader.u64("number of counters");
  reader.take(static_cast<std::uint64_t>(std::popcount(format & times)) * word, "times");
  if (counters > reader.left() / word) reader.fail("more counters than there is room for");
  reader.take(counters * of_each * word, "counters");
}

void skip_branches(ByteReader& reader, std::uint64_t branch_type) {
  constexpr std::uint64_t has_index = std::uint64_t{1} << 17U, has_counters = std::uint64_t{1} << 19U;
  const std::uint64_t branch_size = (branch_type & has_counters) != 0 ? 24 + 8 : 24;
  const std::uint64_t count = reader.u64("number of branches");
  if ((branch_type & has_index) != 0) reader.u64("index of branches");
  if (count > reader.left() / branch_size) reader.fail("more branches than there is room for");
  reader.take(count * branch_size, "branches");
}

void read_user_stack(ByteReader& reader, SampleWords& words) {
  const std::uint64_t room = reader.u64("size of the stack");
  if (room == 0) return;
  const auto bytes = reader.take(room, "stack");
  words.stack.bytes = bytes.first(std::min<std::uint64_t>(reader.u64("size of the stack"), bytes.size()));
}

void read_sample(const PerfRecord& record, Endian endian, const InputOrigin& origin, SampleWords& words) {
  const EventLayout& layout = *record.layout;
  ByteReader reader(record.body, endian, origin, record.offset + 8);
  const auto has = [&](std::uint64_t bit) { return (layout.sample_type & bit) != 0; };
  const auto skip = [&](std::uint64_t bit, const char* what) {
    if (has(bit)) reader.u64(what);
  };
  words.pc = 0;
  words.process = words.thread = 0;
  words.call_chain.clear();
  words.registers.clear();
  words.stack.bytes = {};
  const auto place = [&] { return record.body.size() - static_cast<std::size_t>(reader.left()); };
  skip(sample_bit::identifier, "identifier");
  if (has(sample_bit::ip)) words.pc = reader.u64("PC");
  if (has(sample_bit::thread)) {
    words.process = reader.i32("process");
    words.thread = reader.i32("thread");
  }
  skip(sample_bit::time, "time");
  skip(sample_bit::address, "address");
  skip(sample_bit::id, "ID");
  skip(sample_bit::stream_id, "stream");
  skip(sample_bit::processor, "processor");
  words.period = has(sample_bit::period) ? reader.u64("period") : layout.period;
  if (has(sample_bit::read)) skip_read(reader, layout.read_format);
  words.chain_begin = place();
  if (has(sample_bit::call_chain)) read_words(reader, reader.u64("length"), endian, "call chain", words.call_chain);
  words.chain_end = place();
  if (has(sample_bit::raw)) reader.take(reader.u32("size of raw data"), "raw data");
  if (has(sample_bit::branches)) skip_branches(reader, layout.branch_type);
  words.registers_begin = place();
  if (has(sample_bit::user_registers) && reader.u64("kind of registers") != 0) {
    const auto count = static_cast<std::uint64_t>(std::popcount(layout.user_registers));
    read_words(reader, count, endian, "registers", words.registers);
  }
  if (has(sample_bit::user_stack)) read_user_stack(reader, words);
  words.stack_end = place();
}

/// The part of a call chain after a mark, up to the next one. A program's part is the last one. Where it keeps no frame
/// pointers, the kernel may have found any number there, those of marks as well.
void put_part(const std::vector<std::uint64_t>& chain, std::uint64_t mark, std::vector<std::uint64_t>& pcs) {
  pcs.clear();
  bool is_part = false, is_of_program = false;
  for (const std::uint64_t entry : chain) {
    if (entry >= chain_mark::first && !is_of_program) {
      is_part = entry == mark;
      is_of_program = entry == chain_mark::user;
    } else if (is_part) {
      pcs.push_back(entry);
    }
  }
}

std::string text_at(ByteReader& reader) {
  return std::string(text_before_zero(reader.take(reader.left(), "text")));
}

}  // namespace

OpenedFile RecordedFiles::open(const Mapping& mapping) {
  if (mapping.is_of_no_file()) return {nullptr, is_of_no_file, perf_maps_.of(mapping.process, root_)};
  if (kept_open_.code) return kept_open_.code(mapping);
  const std::string key = mapping.path + "\n" + mapping.build_id + "\n" + std::to_string(mapping.inode);
  return files_.get(key, [&] { return open_first(mapping); });
}

/// Its build-id tells that a server's file is the one that was recorded.
OpenedFile RecordedFiles::open_first(const Mapping& mapping) {
  OpenedFile here;
  try {
    here = open_here(mapping);
  } catch (const Failure& failure) {
    here = {nullptr, failure.what()};
  }
  if (here.file || mapping.build_id.empty() || options_.debuginfod == nullptr) return here;
  OpenedFile fetched = fetch(mapping);
  return fetched.file ? fetched : here;
}

/// What is wrong with a server's file is no reason: there is one already why there is none here.
OpenedFile RecordedFiles::fetch(const Mapping& mapping) const try {
  const std::string name = printable(mapping.path);
  const Descriptor file = options_.debuginfod->find(Debuginfod::What::Executable, mapping.build_id, name);
  if (!file.is_open()) return {};
  elf::Image image = elf::Image::open(file.number(), name);
  const elf::Machine* const machine = elf::find_machine(image);
  const bool is_of_recording = machine != nullptr && (!abi_ || machine->abi == *abi_);
  if (!is_of_recording || elf::hex_digits(elf::build_id(image)) != mapping.build_id) return {};
  return {std::make_shared<CodeFile>(std::move(image), std::vector<std::byte>(), options_, root_), {}};
} catch (const Failure&) {
  return {};
}

OpenedFile RecordedFiles::open_here(const Mapping& mapping) {
  const bool is_vdso = mapping.path == "[vdso]";
  if (!is_vdso && !mapping.path.starts_with('/')) return {nullptr, is_of_no_file};
  const auto opened = is_vdso ? nullptr : root_.open_path(mapping.path);
  elf::Image image = is_vdso ? open_vdso() : elf::Image::open(opened->file.number(), root_.full_name(mapping.path));
  const elf::Machine* const machine = elf::find_machine(image);
  if (abi_ && (machine == nullptr || machine->abi != *abi_)) return {nullptr, "for another architecture"};
  const std::string id = elf::hex_digits(elf::build_id(image));
  if (mapping.build_id.empty() && !is_vdso) {
    const FileChange change = change_of(FileIdentity(opened->status), mapping.inode, recording_);
    if (change == FileChange::OtherFile) return {nullptr, "not the file that was recorded"};
    if (change == FileChange::OfContents)
      return {nullptr,
              "was changed since the recording, which has no build-id of it (use `perf record --buildid-mmap`)"};
    if (change == FileChange::OfInode) relabeled_.push_back(printable(mapping.path));
  } else if (id.empty() || !mapping.build_id.starts_with(id)) {  // perf may have padded a short one with zeros
    return {nullptr, "not the file that was recorded"};
  }
  return {std::make_shared<CodeFile>(std::move(image), std::vector<std::byte>(), options_, root_), {}};
}

/// perf looks for the same name. The kernel, which recorded the mapping, says that it is the process's.
std::shared_ptr<JitCode> RecordedFiles::jit_code(const Mapping& mapping) {
  const std::string_view name = std::string_view(mapping.path).substr(mapping.path.rfind('/') + 1);
  if (!mapping.path.starts_with('/') || !name.starts_with("jit-") || !name.ends_with(".dump")) return nullptr;
  return jit_codes_.emplace_back(
      std::make_shared<JitCode>([this, mapping] { return open_jitdump(mapping); }, options_, root_));
}

JitDump RecordedFiles::open_jitdump(const Mapping& mapping) {
  const std::string name = printable(mapping.path);
  if (!has_monotonic_times_)
    throw Refused(name,
                  "the recording's times are of another clock (use `sframe-trace record` or `perf record -k mono`)");
  const auto opened = kept_open_.jitdump ? kept_open_.jitdump(mapping) : root_.open_text(mapping.path);
  if (opened->error != 0) throw_why(name, *opened);
  MappedFile mapped(opened->file.number(), name);
  if (opened->status.st_ino != mapping.inode) throw Refused(name, "not the file that was recorded");
  // Of a number that was free, another user may have made a new file.
  if (!may_name_code(opened->status.st_uid, mapping.process)) throw Refused(name, not_trusted);
  // A recording may name one file for any number of processes, and each reads it.
  constexpr std::uint64_t most_bytes = std::uint64_t{4} << 30U;
  jitdump_bytes_ += mapped.bytes().size();
  if (jitdump_bytes_ > most_bytes) throw Refused(name, "all jitdumps of the recording have more than 4 GiB");
  return {std::move(mapped), abi_.value_or(host_abi())};
}

std::vector<std::string> RecordedFiles::refused_jitdumps() const {
  std::vector<std::string> refused;
  for (const auto& code : jit_codes_)
    if (!code->why_not().empty()) refused.push_back(code->why_not());
  return refused;
}

bool RecordedStack::read_word(void* context, std::uint64_t address, void* bytes) {
  constexpr std::size_t size = 8;
  auto& stack = *static_cast<RecordedStack*>(context);
  const std::uint64_t offset = address - stack.address;
  if (address < stack.address || stack.bytes.size() < size || offset > stack.bytes.size() - size) return false;
  std::memcpy(bytes, stack.bytes.data() + offset, size);
  return true;
}

RecordedPrograms::RecordedPrograms(RecordSource source, OpenFile open_file, OpenJitCode open_jit_code)
    : source_(std::move(source)),
      sample_origin_{source_.name, "sample"},
      open_file_(std::move(open_file)),
      open_jit_code_(std::move(open_jit_code)) {}

void RecordedPrograms::take(const PerfRecord& record, Walker& walker, const TakeSample& take) {
  ++records_;
  switch (record.type) {
    case record_type::map:
    case record_type::map2:
      return take_mapping(record);
    case record_type::name:
      return take_name(record);
    case record_type::fork:
      return take_fork(record);
    case record_type::exit:
      return take_exit(record);
    case record_type::sample:
      return take_sample(record, walker, take);
    default:
      if (record.type == 0 || record.type > record_type::last_known) ++unknown_;
      return;
  }
}

Recording::Recording(MappedFile file, OpenFile open_file, RecordedPrograms::OpenJitCode open_jit_code)
    : file_(std::move(file), host_abi()),
      deferred_(file_.records(), file_.endian(), file_.name()),
      programs_(
          {file_.name(), file_.endian(), file_.abi(), &file_.build_ids(), file_.records().size(), 127, &deferred_},
          std::move(open_file), std::move(open_jit_code)) {}

std::string SampledEvent::unit() const {
  return counts_cpu_time ? "ns" : std::string(without_modifiers(name));
}

std::vector<SampledEvent> sampled_events(const EventLayouts& layouts, const std::vector<std::string>& names) {
  std::vector<SampledEvent> events;
  for (const EventLayout& layout : layouts.all())
    events.push_back({names[events.size()], layout.counts_cpu_time, layout.frequency});
  return events;
}

bool Recording::choose(SampleChoice choice) {
  const std::vector<std::string> names = file_.event_names();
  for (std::size_t number = 0; number < names.size(); ++number)
    if (choice.event == names[number] || choice.event == without_modifiers(names[number]))
      choice.events.push_back(number);
  if (!choice.event.empty() && choice.events.empty()) return false;
  choice_ = choice;
  programs_.choose(std::move(choice));
  return true;
}

std::vector<std::size_t> Recording::events_with_samples() const {
  std::vector<bool> has_samples(file_.layouts().all().size());
  for (const PerfRecord& record : file_.records())
    if (record.type == record_type::sample) has_samples[record.layout->number] = true;
  std::vector<std::size_t> numbers;
  for (std::size_t number = 0; number < has_samples.size(); ++number)
    if (has_samples[number] && choice_.has_event(number)) numbers.push_back(number);
  return numbers;
}

void Recording::walk_all(Walker& walker, const TakeSample& take, const std::function<void(std::uint64_t)>& progress,
                         const std::function<void(const PerfRecord&)>& take_record) {
  constexpr std::uint64_t between_reports = 256;
  std::uint64_t done = 0;
  for (const PerfRecord& record : file_.records()) {
    programs_.take(record, walker, take);
    if (take_record) take_record(record);
    if (++done % between_reports == 0 && progress) progress(done);
  }
}

MappingWords read_mapping(const PerfRecord& record, Endian endian, const InputOrigin& origin) {
  constexpr std::uint16_t of_data = 1U << 13U, has_build_id = 1U << 14U;
  constexpr std::uint32_t executable = 4;
  ByteReader reader(record.body, endian, origin, record.offset + 8);
  MappingWords words;
  words.process = reader.i32("process");
  reader.u32("thread");
  Mapping& mapping = words.mapping;
  mapping.process = words.process;
  mapping.begin = reader.u64("address");
  mapping.end = mapping.begin + reader.u64("size");
  mapping.file_offset = reader.u64("offset");
  words.is_code = (record.flags & of_data) == 0;
  if (record.type == record_type::map2) {
    constexpr std::size_t identity_size = 24, most_id = 20;
    const auto identity = reader.take(identity_size, "file");
    if ((record.flags & has_build_id) != 0) {
      const std::size_t size = std::min(std::to_integer<std::size_t>(identity[0]), most_id);
      mapping.build_id = elf::hex_digits(identity.subspan(4, size));
    } else {
      mapping.device = makedev(load<std::uint32_t>(identity, endian), load<std::uint32_t>(identity.subspan(4), endian));
      mapping.inode = load<std::uint64_t>(identity.subspan(8), endian);
      mapping.generation = load<std::uint64_t>(identity.subspan(16), endian);
    }
    words.is_code = (reader.u32("rights") & executable) != 0;
    reader.u32("flags");
  }
  mapping.path = text_at(reader);
  words.is_code = words.is_code && mapping.begin <= mapping.end;
  return words;
}

void RecordedPrograms::take_mapping(const PerfRecord& record) {
  if ((record.flags & cpu_mode) == kernel_mode) return take_kernel(record);
  if ((record.flags & cpu_mode) != user_mode) return;
  MappingWords words = read_mapping(record, source_.endian, {source_.name, "mapping"});
  Mapping& mapping = words.mapping;
  if (mapping.build_id.empty() && source_.build_ids != nullptr) {
    const auto known = source_.build_ids->find(mapping.path);
    if (known != source_.build_ids->end()) mapping.build_id = known->second;
  }
  if (outer_stacks_) outer_stacks_->forget_range(words.process, mapping.begin, mapping.end);
  if (!words.is_code) return;
  Space& space = space_of(words.process);
  if (space.use_count() > 1) {
    copied_parts_ += space->modules().modules().size();
    if (copied_parts_ > most_copied_parts + 16 * std::max(records_, source_.records))
      throw Refused(source_.name, "programs that were forked have too many mappings of their own");
    space = std::make_shared<AddressSpace>(*space);
  }
  space->add(mapping);
  std::string& file = programs_[words.process].file;
  if (file.empty() && mapping.path.starts_with('/') && !mapping.is_of_no_file()) file = mapping.path;
  if (auto code = open_jit_code_ ? open_jit_code_(mapping) : nullptr) space->set_jit_code(std::move(code));
}

/// "[kernel.kallsyms]_text", whose offset is the function's address.
void RecordedPrograms::take_kernel(const PerfRecord& record) {
  constexpr std::string_view kernel_prefix = "[kernel.kallsyms]";
  const Mapping mapping = read_mapping(record, source_.endian, {source_.name, "mapping"}).mapping;
  // Names of samples may be looked up by now.
  if (had_sample_ || !mapping.path.starts_with(kernel_prefix) || mapping.path.size() == kernel_prefix.size()) return;
  kernel_mark_ = {mapping.path.substr(kernel_prefix.size()), mapping.file_offset, mapping.build_id};
}

void RecordedPrograms::take_name(const PerfRecord& record) {
  constexpr std::uint16_t of_exec = 1U << 13U;
  const InputOrigin origin{source_.name, "name of a thread"};
  ByteReader reader(record.body, source_.endian, origin, record.offset + 8);
  const int process = reader.i32("process");
  const int thread = reader.i32("thread");
  // Linux's have 15 letters. Threads that a thread makes inherit it.
  constexpr std::size_t longest = 64;
  names_[thread] = printable(text_at(reader).substr(0, longest));
  if ((record.flags & of_exec) == 0) return;
  programs_.insert_or_assign(process, Program{.space = {}, .number = ++programs_begun_, .has_run = false});
}

void RecordedPrograms::put_names(Sample& sample) const {
  const auto of_thread = names_.find(sample.thread), of_process = names_.find(sample.process);
  // A thread that was there before the recording began, and was never renamed, has its process's name.
  if (of_thread != names_.end()) {
    sample.name = of_thread->second;
  } else {
    sample.name = of_process != names_.end() ? of_process->second : ":" + std::to_string(sample.thread);
  }
  sample.process_name = of_process != names_.end() ? of_process->second : sample.name;
}

void RecordedPrograms::take_fork(const PerfRecord& record) {
  // What perf found running when it began: its mappings follow, and its parent's are none of it.
  constexpr std::uint16_t is_found = 1U << 13U;
  const InputOrigin origin{source_.name, "fork"};
  ByteReader reader(record.body, source_.endian, origin, record.offset + 8);
  const int process = reader.i32("process"), parent = reader.i32("parent");
  const int thread = reader.i32("thread"), parent_thread = reader.i32("parent thread");
  if (outer_stacks_) outer_stacks_->forget_thread(thread);
  const auto name = names_.find(parent_thread);
  if (name != names_.end()) {
    const std::string inherited = name->second;
    names_[thread] = inherited;
  }
  if (process == parent) {
    programs_[process].others.insert(thread);
    return;
  }
  const auto old = programs_.find(parent);
  const bool inherits = old != programs_.end() && (record.flags & is_found) == 0;
  Program program{.space = {}, .number = ++programs_begun_};
  if (inherits) {
    program.space = old->second.space;
    program.file = old->second.file;
  }
  programs_.insert_or_assign(process, std::move(program));
}

void RecordedPrograms::take_exit(const PerfRecord& record) {
  const InputOrigin origin{source_.name, "exit"};
  ByteReader reader(record.body, source_.endian, origin, record.offset + 8);
  const int process = reader.i32("process");
  reader.u32("parent");
  const int thread = reader.i32("thread");
  names_.erase(thread);
  if (outer_stacks_) outer_stacks_->forget_thread(thread);
  const auto program = programs_.find(process);
  if (program == programs_.end()) return;
  program->second.others.erase(thread);
  if (process == thread) program->second.has_first = false;
  if (!program->second.has_first && program->second.others.empty()) programs_.erase(program);
}

RecordedPrograms::Space& RecordedPrograms::space_of(int process) {
  Space& space = programs_[process].space;
  if (!space) space = std::make_shared<AddressSpace>(std::vector<Mapping>(), open_file_, locations_);
  return space;
}

/// In execve(2), the kernel tells of a program when it has taken the place of the one before, whose registers it still
/// has then. They lead to nothing: what was mapped is gone.
bool RecordedPrograms::is_of_program_before(const PerfRecord& record, std::uint64_t pc) {
  Program& program = programs_[words_.process];
  const bool is_in_kernel = (record.flags & cpu_mode) == kernel_mode;
  if (!program.has_run && is_in_kernel && (!program.space->has_code_at(pc) || words_.stack.bytes.empty())) return true;
  program.has_run = true;
  return false;
}

/// Walks the sample's stack by what was recorded of it. Where that ends, other evidence may lead on.
void RecordedPrograms::walk_recorded(const PerfRecord& record, const unwind::Registers& registers, AddressSpace& space,
                                     Walker& walker) {
  RecordedStack& recorded = words_.stack;
  Stack& stack = sample_.user;
  recorded.address = registers.values[sframe::traits_of(source_.abi).stack_pointer];
  walker.walk_all(space, registers, RecordedStack::read_word, &recorded, stack);
  stack.is_piece = true;
  if (!record.layout->excludes_user_chain && walker.uses_frame_pointers()) {
    const KernelChain chain{user_part_, user_part_.size() + sample_.kernel.size() >= source_.longest_chain};
    go_on_by(chain, space, walker.most_frames(), stack);
  }
  if (outer_stacks_) {
    const StackOwner owner{words_.process, words_.thread, programs_[words_.process].number};
    outer_stacks_->take(owner, {recorded.address, recorded.bytes}, stack);
  }
  walker.leave_out(stack);
}

void RecordedPrograms::take_sample(const PerfRecord& record, Walker& walker, const TakeSample& take) {
  SampleWords& words = words_;
  read_sample(record, source_.endian, sample_origin_, words);
  const std::uint64_t mask = record.layout->user_registers;
  const auto registers =
      words.registers.empty() ? std::nullopt : recorded_registers(source_.abi, mask, words.registers);
  Sample& sample = sample_;
  sample.words = &words;
  sample.process = words.process;
  sample.thread = words.thread;
  sample.time = record.time;
  sample.event = record.layout->number;
  // A period that is not known counts the sample.
  sample.period = std::max<std::uint64_t>(words.period, 1);
  put_names(sample);
  had_sample_ = true;
  if (!choice_.has_event(sample.event) || !choice_.has(sample.process, sample.thread, sample.name, sample.time)) {
    ++left_out_;
    return;
  }
  AddressSpace& space = *space_of(words.process);
  sample.program = programs_[words.process].file;
  if (space.jit_code() != nullptr) space.jit_code()->go_to(sample.time);
  put_part(words.call_chain, chain_mark::kernel, sample.kernel);
  const auto cookie = cookie_of(words.call_chain);
  const bool has_come =
      cookie && source_.deferred != nullptr && source_.deferred->put(*cookie, words.thread, deferred_);
  put_part(has_come ? deferred_ : words.call_chain, chain_mark::user, user_part_);
  // perf also records registers alone (--user-regs).
  const bool is_as_recorded =
      !user_part_.empty() && (!registers || (record.layout->sample_type & sample_bit::user_stack) == 0);
  const bool never_came = cookie && !has_come && !is_as_recorded && !registers;
  const bool has_user_pc = words.pc != 0 && (record.flags & cpu_mode) == user_mode;
  sample.has_user_stack = registers || is_as_recorded || never_came || has_user_pc;
  if (registers && is_of_program_before(record, registers->pc)) sample.has_user_stack = false;
  sample.user = {.frames = std::move(sample.user.frames), .bases = std::move(sample.user.bases)};
  sample.user.frames.clear();
  sample.user.bases.clear();
  if (is_as_recorded) {
    sample.user.is_as_recorded = true;
    for (const std::uint64_t pc : user_part_) {
      // All but the first one are return addresses.
      Frame& frame = sample.user.frames.emplace_back(Frame{pc, sample.user.frames.empty()});
      // No program has the first 64 KiB (vm.mmap_min_addr). In our own chains, such an entry is between both ends of a
      // deep stack.
      if (pc <= most_left_out && record.layout->excludes_user_chain && sample.user.frames.size() > 1) {
        frame = {.pc_is_exact = false, .left_out = pc == 0 ? Frame::some : static_cast<std::uint32_t>(pc)};
      } else {
        frame.location = space.location_of(frame.instruction());
      }
    }
    // A chain does not say whether it has all frames, but for those that are left out here.
    const bool has_ends = keep_both_ends(sample.user.frames, walker.most_frames());
    sample.user.stop = has_ends ? unwind::Stop::Outermost : unwind::Stop::Stepped;
  } else if (registers && sample.has_user_stack) {
    walk_recorded(record, *registers, space, walker);
  } else if (sample.has_user_stack) {
    // Without registers there is no caller.
    if (has_user_pc) sample.user.frames.push_back({words.pc, true, space.location_of(words.pc)});
    sample.user.stop = unwind::Stop::UnknownRegister;
    sample.user.is_as_recorded = sample.user.is_deferred = never_came;
  } else if (sample.kernel.empty() && words.pc != 0 && (record.flags & cpu_mode) == kernel_mode) {
    // A PC of a guest or a hypervisor would lead to another function here.
    sample.kernel.push_back(words.pc);
  }
  take(sample);
}

}  // namespace sframe_gen::trace
