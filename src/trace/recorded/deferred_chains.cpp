#include "trace/recorded/deferred_chains.hpp"

#include <algorithm>
#include <string>

#include "support/bytes.hpp"
#include "trace/recorded/sample_words.hpp"

namespace sframe_gen::trace::recorded {

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
