#include "trace/recorded/recording.hpp"

#include <bit>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "elf/build_id.hpp"
#include "sframe/abi.hpp"
#include "support/byte_reader.hpp"
#include "support/text.hpp"
#include "trace/walk/thread_registers.hpp"

namespace sframe_gen::trace {

namespace {

// PERF_RECORD_MISC_*: whose code a record is about.
constexpr std::uint16_t cpu_mode = 7, kernel_mode = 1, user_mode = 2;

/// A stack as it was recorded: a piece of memory from SP upwards.
struct RecordedStack {
  std::uint64_t address = 0;
  std::span<const std::byte> bytes;

  static bool read_word(void* context, std::uint64_t address, void* bytes) {
    constexpr std::size_t size = 8;
    const auto& stack = *static_cast<const RecordedStack*>(context);
    if (address < stack.address || address - stack.address > stack.bytes.size()) return false;
    const auto from = stack.bytes.subspan(address - stack.address);
    if (from.size() < size) return false;
    std::memcpy(bytes, from.data(), size);
    return true;
  }
};

/// A sample's words, as linux/perf_event.h lists them at PERF_RECORD_SAMPLE.
struct SampleWords {
  std::uint64_t pc = 0;
  int process = 0, thread = 0;
  std::vector<std::uint64_t> call_chain;
  std::vector<std::uint64_t> registers;
  RecordedStack stack;
};

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

std::vector<std::uint64_t> read_words(ByteReader& reader, std::uint64_t count, const char* what) {
  if (count > reader.left() / 8) reader.fail(std::string(what) + ": more than there is room for");
  std::vector<std::uint64_t> words(count);
  for (std::uint64_t& word : words) word = reader.u64(what);
  return words;
}

void skip_branches(ByteReader& reader, std::uint64_t branch_type) {
  constexpr std::uint64_t has_index = std::uint64_t{1} << 17U, branch_size = 24;
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

SampleWords read_sample(const Record& record, Endian endian, const Origin& origin) {
  const EventLayout& layout = *record.layout;
  ByteReader reader(record.body, endian, origin, record.offset + 8);
  const auto has = [&](std::uint64_t bit) { return (layout.sample_type & bit) != 0; };
  const auto skip = [&](std::uint64_t bit, const char* what) {
    if (has(bit)) reader.u64(what);
  };
  SampleWords words;
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
  skip(sample_bit::period, "period");
  if (has(sample_bit::read)) skip_read(reader, layout.read_format);
  if (has(sample_bit::call_chain)) words.call_chain = read_words(reader, reader.u64("length"), "call chain");
  if (has(sample_bit::raw)) reader.take(reader.u32("size of raw data"), "raw data");
  if (has(sample_bit::branches)) skip_branches(reader, layout.branch_type);
  if (has(sample_bit::user_registers) && reader.u64("kind of registers") != 0) {
    const auto count = static_cast<std::uint64_t>(std::popcount(layout.user_registers));
    words.registers = read_words(reader, count, "registers");
  }
  if (has(sample_bit::user_stack)) read_user_stack(reader, words);
  return words;
}

/// The part of a call chain that the kernel walked itself: between the marks that say whose PCs follow.
std::vector<std::uint64_t> kernel_part(const std::vector<std::uint64_t>& chain) {
  constexpr auto first_mark = static_cast<std::uint64_t>(-4095), kernel_mark = static_cast<std::uint64_t>(-128);
  std::vector<std::uint64_t> pcs;
  bool is_kernel = false;
  for (const std::uint64_t entry : chain) {
    if (entry >= first_mark) {
      is_kernel = entry == kernel_mark;
    } else if (is_kernel) {
      pcs.push_back(entry);
    }
  }
  return pcs;
}

std::string text_at(ByteReader& reader) {
  const auto bytes = reader.take(reader.left(), "text");
  const auto* const begin = reinterpret_cast<const char*>(bytes.data());
  return {begin, ::strnlen(begin, bytes.size())};
}

}  // namespace

Recording::Recording(const std::filesystem::path& path, OpenFile open_file)
    : file_(path, host_abi()), open_file_(std::move(open_file)) {}

void Recording::walk_all(Walker& walker, const TakeSample& take, const std::function<void(std::uint64_t)>& progress) {
  constexpr std::uint64_t between_reports = 256;
  std::uint64_t done = 0;
  for (const Record& record : file_.records()) {
    switch (record.type) {
      case record_type::map:
      case record_type::map2:
        take_mapping(record);
        break;
      case record_type::name:
        take_name(record);
        break;
      case record_type::fork:
        take_fork(record);
        break;
      case record_type::exit:
        take_exit(record);
        break;
      case record_type::sample:
        take_sample(record, walker, take);
        break;
      default:
        break;
    }
    if (++done % between_reports == 0 && progress) progress(done);
  }
}

void Recording::take_mapping(const Record& record) {
  constexpr std::uint16_t of_data = 1U << 13U, has_build_id = 1U << 14U;
  constexpr std::uint32_t executable = 4;
  if ((record.flags & cpu_mode) == kernel_mode) return take_kernel(record);
  if ((record.flags & cpu_mode) != user_mode) return;
  const Origin origin{file_.name(), "mapping"};
  ByteReader reader(record.body, file_.endian(), origin, record.offset + 8);
  const int process = reader.i32("process");
  reader.u32("thread");
  Mapping mapping;
  mapping.begin = reader.u64("address");
  mapping.end = mapping.begin + reader.u64("size");
  mapping.file_offset = reader.u64("offset");
  bool is_code = (record.flags & of_data) == 0;
  if (record.type == record_type::map2) {
    constexpr std::size_t identity_size = 24, most_id = 20;
    const auto identity = reader.take(identity_size, "file");
    if ((record.flags & has_build_id) != 0) {
      const std::size_t size = std::min(std::to_integer<std::size_t>(identity[0]), most_id);
      mapping.build_id = elf::hex_digits(identity.subspan(4, size));
    } else {
      mapping.inode = load<std::uint64_t>(identity.subspan(8), file_.endian());
    }
    is_code = (reader.u32("rights") & executable) != 0;
    reader.u32("flags");
  }
  mapping.path = text_at(reader);
  const auto known = file_.build_ids().find(mapping.path);
  if (mapping.build_id.empty() && known != file_.build_ids().end()) mapping.build_id = known->second;
  if (!is_code || mapping.end < mapping.begin) return;
  Space& space = space_of(process);
  if (space.use_count() > 1) space = std::make_shared<AddressSpace>(*space);
  if (space->add(mapping)) rows_of_ = nullptr;
}

/// "[kernel.kallsyms]_text", whose offset is the function's address.
void Recording::take_kernel(const Record& record) {
  constexpr std::string_view kernel_file = "[kernel.kallsyms]";
  const Origin origin{file_.name(), "mapping"};
  ByteReader reader(record.body, file_.endian(), origin, record.offset + 8);
  for (const char* what : {"process and thread", "address", "size"}) reader.u64(what);
  const std::uint64_t address = reader.u64("offset");
  constexpr std::size_t others_of_map2 = 24 + 4 + 4;
  if (record.type == record_type::map2) reader.take(others_of_map2, "file");
  const std::string name = text_at(reader);
  if (!name.starts_with(kernel_file) || name.size() == kernel_file.size()) return;
  kernel_mark_ = {name.substr(kernel_file.size()), address};
}

void Recording::take_name(const Record& record) {
  constexpr std::uint16_t of_exec = 1U << 13U;
  const Origin origin{file_.name(), "name of a thread"};
  ByteReader reader(record.body, file_.endian(), origin, record.offset + 8);
  const int process = reader.i32("process");
  const int thread = reader.i32("thread");
  names_[thread] = printable(text_at(reader));
  if ((record.flags & of_exec) != 0) forget(process);
}

std::string Recording::name_of(int process, int thread) const {
  // A thread that was there before the recording began, and was never renamed, has its process's name.
  for (const int number : {thread, process}) {
    const auto name = names_.find(number);
    if (name != names_.end()) return name->second;
  }
  return ":" + std::to_string(thread);
}

void Recording::take_fork(const Record& record) {
  const Origin origin{file_.name(), "fork"};
  ByteReader reader(record.body, file_.endian(), origin, record.offset + 8);
  const int process = reader.i32("process"), parent = reader.i32("parent");
  const int thread = reader.i32("thread"), parent_thread = reader.i32("parent thread");
  const auto name = names_.find(parent_thread);
  if (name != names_.end()) {
    const std::string inherited = name->second;
    names_[thread] = inherited;
  }
  const auto old = spaces_.find(parent);
  if (process == parent || old == spaces_.end()) return;
  const Space inherited = old->second;
  spaces_.insert_or_assign(process, inherited);
}

void Recording::take_exit(const Record& record) {
  const Origin origin{file_.name(), "exit"};
  ByteReader reader(record.body, file_.endian(), origin, record.offset + 8);
  const int process = reader.i32("process");
  reader.u32("parent");
  const int thread = reader.i32("thread");
  names_.erase(thread);
  if (process == thread) forget(process);
}

void Recording::forget(int process) {
  spaces_.erase(process);
  rows_of_ = nullptr;
}

Recording::Space& Recording::space_of(int process) {
  Space& space = spaces_[process];
  if (!space) space = std::make_shared<AddressSpace>(std::vector<Mapping>(), open_file_);
  return space;
}

void Recording::take_sample(const Record& record, Walker& walker, const TakeSample& take) {
  const Origin origin{file_.name(), "sample"};
  SampleWords words = read_sample(record, file_.endian(), origin);
  const std::uint64_t mask = record.layout->user_registers;
  const auto registers =
      words.registers.empty() ? std::nullopt : recorded_registers(file_.abi(), mask, words.registers);
  AddressSpace& space = *space_of(words.process);
  Sample sample{
      .process = words.process, .thread = words.thread, .name = {}, .time = record.time, .kernel = {}, .user = {}};
  sample.name = name_of(words.process, words.thread);
  sample.kernel = kernel_part(words.call_chain);
  if (registers) {
    sample.has_user_stack = true;
    if (rows_of_ != &space) walker.forget_rows();
    rows_of_ = &space;
    words.stack.address = registers->values[sframe::traits_of(file_.abi()).stack_pointer];
    sample.user = walker.walk(space, *registers, RecordedStack::read_word, &words.stack);
    sample.user.is_piece = true;
  } else if (words.pc != 0 && (record.flags & cpu_mode) == user_mode) {
    // Without registers there is no caller.
    sample.has_user_stack = true;
    sample.user.frames.push_back({words.pc, true});
    sample.user.stop = unwind::Stop::UnknownRegister;
  } else if (sample.kernel.empty() && words.pc != 0) {
    sample.kernel.push_back(words.pc);
  }
  take(sample, space);
}

}  // namespace sframe_gen::trace
