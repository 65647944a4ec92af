#include "trace/recorded/sample_words.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "elf/notes.hpp"
#include "support/text.hpp"

namespace sframe_gen::trace::recorded {

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

void read_sample(const perf::PerfRecord& record, Endian endian, const InputOrigin& origin, SampleWords& words) {
  const perf::EventLayout& layout = *record.layout;
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
  skip(perf::sample_bit::identifier, "identifier");
  if (has(perf::sample_bit::ip)) words.pc = reader.u64("PC");
  if (has(perf::sample_bit::thread)) {
    words.process = reader.i32("process");
    words.thread = reader.i32("thread");
  }
  skip(perf::sample_bit::time, "time");
  skip(perf::sample_bit::address, "address");
  skip(perf::sample_bit::id, "ID");
  skip(perf::sample_bit::stream_id, "stream");
  skip(perf::sample_bit::processor, "processor");
  words.period = has(perf::sample_bit::period) ? reader.u64("period") : layout.period;
  if (has(perf::sample_bit::read)) skip_read(reader, layout.read_format);
  words.chain_begin = place();
  if (has(perf::sample_bit::call_chain))
    read_words(reader, reader.u64("length"), endian, "call chain", words.call_chain);
  words.chain_end = place();
  if (has(perf::sample_bit::raw)) reader.take(reader.u32("size of raw data"), "raw data");
  if (has(perf::sample_bit::branches)) skip_branches(reader, layout.branch_type);
  words.registers_begin = place();
  if (has(perf::sample_bit::user_registers) && reader.u64("kind of registers") != 0) {
    const auto count = static_cast<std::uint64_t>(std::popcount(layout.user_registers));
    read_words(reader, count, endian, "registers", words.registers);
  }
  if (has(perf::sample_bit::user_stack)) read_user_stack(reader, words);
  words.stack_end = place();
}

std::string text_at(ByteReader& reader) {
  return std::string(text_before_zero(reader.take(reader.left(), "text")));
}

bool RecordedStack::read_word(void* context, std::uint64_t address, void* bytes) {
  constexpr std::size_t size = 8;
  auto& stack = *static_cast<RecordedStack*>(context);
  const std::uint64_t offset = address - stack.address;
  if (address < stack.address || stack.bytes.size() < size || offset > stack.bytes.size() - size) return false;
  std::memcpy(bytes, stack.bytes.data() + offset, size);
  return true;
}

MappingWords read_mapping(const perf::PerfRecord& record, Endian endian, const InputOrigin& origin) {
  constexpr std::uint16_t of_data = 1U << 13U, has_build_id = 1U << 14U;
  constexpr std::uint32_t executable = 4;
  ByteReader reader(record.body, endian, origin, record.offset + 8);
  MappingWords words;
  words.process = reader.i32("process");
  reader.u32("thread");
  walk::Mapping& mapping = words.mapping;
  mapping.process = words.process;
  mapping.begin = reader.u64("address");
  mapping.end = mapping.begin + reader.u64("size");
  mapping.file_offset = reader.u64("offset");
  words.is_code = (record.flags & of_data) == 0;
  if (record.type == perf::record_type::map2) {
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

DeferredChains::DeferredChains(std::span<const perf::PerfRecord> records, Endian endian, const std::string& file)
    : endian_(endian), origin_{file, "deferred call chain"} {
  for (const perf::PerfRecord& record : records) {
    if (record.type != perf::record_type::deferred_chain) continue;
    ByteReader reader(record.body, endian_, origin_, record.offset + perf::record_header_size);
    records_.emplace(std::pair(reader.u64("cookie"), perf::thread_of(record, endian_)), &record);
  }
}

bool DeferredChains::put(std::uint64_t cookie, int thread, std::vector<std::uint64_t>& chain) const {
  const auto found = records_.find({cookie, thread});
  if (found == records_.end()) return false;
  const perf::PerfRecord& record = *found->second;
  ByteReader reader(record.body, endian_, origin_, record.offset + perf::record_header_size);
  reader.u64("cookie");
  read_words(reader, reader.u64("length"), endian_, "call chain", chain);
  return true;
}

std::optional<std::uint64_t> cookie_of(std::span<const std::uint64_t> chain) {
  const auto mark = std::ranges::find_if(chain, [](std::uint64_t entry) {
    return entry == recorded::chain_mark::user || entry == recorded::chain_mark::user_deferred;
  });
  if (mark == chain.end() || *mark == recorded::chain_mark::user || mark + 1 == chain.end()) return std::nullopt;
  return *(mark + 1);
}

}  // namespace sframe_gen::trace::recorded
