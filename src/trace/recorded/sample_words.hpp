#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"
#include "support/endian.hpp"
#include "trace/perf/record.hpp"
#include "trace/walk/address_space.hpp"

namespace sframe_gen::trace::recorded {

/// A stack as it was recorded: a piece of memory from SP upwards.
struct RecordedStack {
  std::uint64_t address = 0;
  std::span<const std::byte> bytes;

  static bool read_word(void* context, std::uint64_t address, void* bytes);
};

/// A sample's words, as linux/perf_event.h lists them at PERF_RECORD_SAMPLE.
struct SampleWords {
  std::uint64_t pc = 0, period = 0;
  int process = 0, thread = 0;
  std::vector<std::uint64_t> call_chain;
  std::vector<std::uint64_t> registers;
  RecordedStack stack;
  /// Places in the record's body: of the call chain, whose length comes first, or where it would be; and of registers
  /// and stack, which follow each other.
  std::size_t chain_begin = 0, chain_end = 0, registers_begin = 0, stack_end = 0;
};

/// PERF_CONTEXT_*: entries of a call chain that say whose PCs follow.
namespace chain_mark {
inline constexpr auto first = static_cast<std::uint64_t>(-4095), kernel = static_cast<std::uint64_t>(-128),
                      user = static_cast<std::uint64_t>(-512), user_deferred = static_cast<std::uint64_t>(-640);
}

/// Reads `count` words. Throws MalformedInput, naming `what`, if there is no room for them.
void read_words(ByteReader& reader, std::uint64_t count, Endian endian, const char* what,
                std::vector<std::uint64_t>& words);

/// Reads a sample into `words`, whose room is used again. Throws MalformedInput.
void read_sample(const perf::PerfRecord& record, Endian endian, const InputOrigin& origin, SampleWords& words);

/// Reads a text that ends at a zero or with the record.
std::string text_at(ByteReader& reader);

/// What a record says of a mapping.
struct MappingWords {
  int process = 0;
  bool is_code = false;
  walk::Mapping mapping;
};

/// Reads a record of the type map or map2. Throws MalformedInput.
MappingWords read_mapping(const perf::PerfRecord& record, Endian endian, const InputOrigin& origin);

/// Call chains of programs that come in records of their own, after the samples that they belong to. Linux walks a
/// program's stack only when the program goes on, if it may have to read pages that are not in memory, as those of
/// .sframe. The sample has a cookie in place of the program's part.
class DeferredChains {
 public:
  /// Of the records, which live on, those that are such chains. Throws MalformedInput.
  DeferredChains(std::span<const perf::PerfRecord> records, Endian endian, const std::string& file);

  /// Puts the chain that the thread's samples with this cookie wait for. False: it never came.
  bool put(std::uint64_t cookie, int thread, std::vector<std::uint64_t>& chain) const;

 private:
  Endian endian_;
  InputOrigin origin_;
  std::map<std::pair<std::uint64_t, int>, const perf::PerfRecord*> records_;  ///< by cookie and thread
};

/// The cookie that a sample's chain ends in; no value: it waits for nothing.
std::optional<std::uint64_t> cookie_of(std::span<const std::uint64_t> chain);

}  // namespace sframe_gen::trace::recorded
