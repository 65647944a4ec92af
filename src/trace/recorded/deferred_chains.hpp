#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sframe_gen/error.hpp"
#include "support/endian.hpp"
#include "trace/perf/record.hpp"

namespace sframe_gen::trace::recorded {

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
