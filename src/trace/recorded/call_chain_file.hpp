#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "files/new_file.hpp"
#include "trace/perf/perf_data_file.hpp"
#include "trace/perf/perf_data_writer.hpp"
#include "trace/recorded/recorded_programs.hpp"

namespace sframe_gen::trace::recorded {

/// A sample's record in which a call chain that was walked takes the place of registers and stack.
struct CallChainRecord {
  std::vector<std::byte> bytes;
  bool is_cut = false;  ///< Frames are left out: records have at most 65,535 bytes.
};
/// `tells_left_out`: the entry between both ends of a deep stack is not 0, but how many frames it stands for. Others
/// than sframe-trace would show it as an address.
CallChainRecord call_chain_record(const perf::PerfRecord& record, const Sample& sample, Endian endian,
                                  bool tells_left_out = false);

/// A recording that is written again, with call chains in the place of registers and stacks. It has no name until it is
/// complete.
class CallChainFile {
 public:
  /// `recording` has to live on. Throws Refused if it was written to a pipe, or is what `path` leads to; and
  /// SystemFailure.
  CallChainFile(const perf::PerfDataFile& recording, const std::filesystem::path& path);

  void add_sample(const perf::PerfRecord& record, const Sample& sample);
  /// Any other record.
  void add(const perf::PerfRecord& record);
  /// Brings the file to its end, and gives it its name; an older file gets ".old" to its own. It is as old as the
  /// recording then: readers compare that with when programs and libraries were changed last. Throws SystemFailure.
  void finish();

  std::uint64_t samples() const { return samples_; }
  /// Samples that a record has no room for all frames of.
  std::uint64_t cut() const { return cut_; }
  /// Bytes of the file, at its end.
  std::uint64_t size() const { return writer_.size(); }

 private:
  FileIdentity recording_;
  Endian endian_;
  files::Place place_;
  files::NewFile file_;
  perf::PerfDataWriter writer_;
  std::uint64_t samples_ = 0, cut_ = 0;
};

}  // namespace sframe_gen::trace::recorded
