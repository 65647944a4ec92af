#include "trace/recorded/recorded_programs.hpp"

#include <algorithm>
#include <utility>

#include "sframe/format.hpp"
#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"
#include "trace/walk/kernel_registers.hpp"
#include "trace/walk/outer_frames.hpp"

namespace sframe_gen::trace::recorded {

namespace {

/// A small recording could have any number of programs, each with a copy of many mappings. Real ones mostly run another
/// program at once.
constexpr std::uint64_t most_copied_parts = std::uint64_t{1} << 20U;

/// An entry that is no PC: how many frames were left out, or 0.
constexpr std::uint64_t most_left_out = std::uint64_t{1} << 16U;

// PERF_RECORD_MISC_*: whose code a record is about.
constexpr std::uint16_t cpu_mode = 7, kernel_mode = 1, user_mode = 2;

/// The part of a call chain after a mark, up to the next one. A program's part is the last one. Where it keeps no frame
/// pointers, the kernel may have found any number there, those of marks as well.
void put_part(const std::vector<std::uint64_t>& chain, std::uint64_t mark, std::vector<std::uint64_t>& pcs) {
  pcs.clear();
  bool is_part = false, is_of_program = false;
  for (const std::uint64_t entry : chain) {
    if (entry >= recorded::chain_mark::first && !is_of_program) {
      is_part = entry == mark;
      is_of_program = entry == recorded::chain_mark::user;
    } else if (is_part) {
      pcs.push_back(entry);
    }
  }
}

}  // namespace

RecordedPrograms::RecordedPrograms(RecordSource source, OpenFile open_file, OpenJitCode open_jit_code)
    : source_(std::move(source)),
      sample_origin_{source_.name, "sample"},
      open_file_(std::move(open_file)),
      open_jit_code_(std::move(open_jit_code)) {}

void RecordedPrograms::take(const perf::PerfRecord& record, walk::Walker& walker, const TakeSample& take) {
  ++records_;
  switch (record.type) {
    case perf::record_type::map:
    case perf::record_type::map2:
      return take_mapping(record);
    case perf::record_type::name:
      return take_name(record);
    case perf::record_type::fork:
      return take_fork(record);
    case perf::record_type::exit:
      return take_exit(record);
    case perf::record_type::sample:
      return take_sample(record, walker, take);
    default:
      if (record.type == 0 || record.type > perf::record_type::last_known) ++unknown_;
      return;
  }
}

void RecordedPrograms::take_mapping(const perf::PerfRecord& record) {
  if ((record.flags & cpu_mode) == kernel_mode) return take_kernel(record);
  if ((record.flags & cpu_mode) != user_mode) return;
  MappingWords words = read_mapping(record, source_.endian, {source_.name, "mapping"});
  walk::Mapping& mapping = words.mapping;
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
    space = std::make_shared<walk::AddressSpace>(*space);
  }
  space->add(mapping);
  std::string& file = programs_[words.process].file;
  if (file.empty() && mapping.path.starts_with('/') && !mapping.is_of_no_file()) file = mapping.path;
  if (auto code = open_jit_code_ ? open_jit_code_(mapping) : nullptr) space->set_jit_code(std::move(code));
}

/// "[kernel.kallsyms]_text", whose offset is the function's address.
void RecordedPrograms::take_kernel(const perf::PerfRecord& record) {
  constexpr std::string_view kernel_prefix = "[kernel.kallsyms]";
  const walk::Mapping mapping = read_mapping(record, source_.endian, {source_.name, "mapping"}).mapping;
  // Names of samples may be looked up by now.
  if (had_sample_ || !mapping.path.starts_with(kernel_prefix) || mapping.path.size() == kernel_prefix.size()) return;
  kernel_mark_ = {mapping.path.substr(kernel_prefix.size()), mapping.file_offset, mapping.build_id};
}

void RecordedPrograms::take_name(const perf::PerfRecord& record) {
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

void RecordedPrograms::take_fork(const perf::PerfRecord& record) {
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

void RecordedPrograms::take_exit(const perf::PerfRecord& record) {
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
  if (!space) space = std::make_shared<walk::AddressSpace>(std::vector<walk::Mapping>(), open_file_, locations_);
  return space;
}

/// In execve(2), the kernel tells of a program when it has taken the place of the one before, whose registers it still
/// has then. They lead to nothing: what was mapped is gone.
bool RecordedPrograms::is_of_program_before(const perf::PerfRecord& record, std::uint64_t pc) {
  Program& program = programs_[words_.process];
  const bool is_in_kernel = (record.flags & cpu_mode) == kernel_mode;
  if (!program.has_run && is_in_kernel && (!program.space->has_code_at(pc) || words_.stack.bytes.empty())) return true;
  program.has_run = true;
  return false;
}

/// Walks the sample's stack by what was recorded of it. Where that ends, other evidence may lead on.
void RecordedPrograms::walk_recorded(const perf::PerfRecord& record, const unwind::Registers& registers,
                                     walk::AddressSpace& space, walk::Walker& walker) {
  RecordedStack& recorded = words_.stack;
  walk::Stack& stack = sample_.user;
  recorded.address = registers.values[sframe::traits_of(source_.abi).stack_pointer];
  walker.walk_all(space, registers, RecordedStack::read_word, &recorded, stack);
  stack.is_piece = true;
  if (!record.layout->excludes_user_chain && walker.uses_frame_pointers()) {
    const walk::KernelChain chain{user_part_, user_part_.size() + sample_.kernel.size() >= source_.longest_chain};
    walk::go_on_by(chain, space, walker.most_frames(), stack);
  }
  if (outer_stacks_) {
    const walk::StackOwner owner{words_.process, words_.thread, programs_[words_.process].number};
    outer_stacks_->take(owner, {recorded.address, recorded.bytes}, stack);
  }
  walker.leave_out(stack);
}

void RecordedPrograms::take_sample(const perf::PerfRecord& record, walk::Walker& walker, const TakeSample& take) {
  SampleWords& words = words_;
  read_sample(record, source_.endian, sample_origin_, words);
  const std::uint64_t mask = record.layout->user_registers;
  const auto registers =
      words.registers.empty() ? std::nullopt : walk::recorded_registers(source_.abi, mask, words.registers);
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
  walk::AddressSpace& space = *space_of(words.process);
  sample.program = programs_[words.process].file;
  if (space.jit_code() != nullptr) space.jit_code()->go_to(sample.time);
  put_part(words.call_chain, recorded::chain_mark::kernel, sample.kernel);
  const auto cookie = cookie_of(words.call_chain);
  const bool has_come =
      cookie && source_.deferred != nullptr && source_.deferred->put(*cookie, words.thread, deferred_);
  put_part(has_come ? deferred_ : words.call_chain, recorded::chain_mark::user, user_part_);
  // perf also records registers alone (--user-regs).
  const bool is_as_recorded =
      !user_part_.empty() && (!registers || (record.layout->sample_type & perf::sample_bit::user_stack) == 0);
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
      walk::Frame& frame = sample.user.frames.emplace_back(walk::Frame{pc, sample.user.frames.empty()});
      // No program has the first 64 KiB (vm.mmap_min_addr). In our own chains, such an entry is between both ends of a
      // deep stack.
      if (pc <= most_left_out && record.layout->excludes_user_chain && sample.user.frames.size() > 1) {
        frame = {.pc_is_exact = false, .left_out = pc == 0 ? walk::Frame::some : static_cast<std::uint32_t>(pc)};
      } else {
        frame.location = space.location_of(frame.instruction());
      }
    }
    // A chain does not say whether it has all frames, but for those that are left out here.
    const bool has_ends = walk::keep_both_ends(sample.user.frames, walker.most_frames());
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

}  // namespace sframe_gen::trace::recorded
