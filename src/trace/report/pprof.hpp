#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/hash.hpp"
#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/recording.hpp"
#include "trace/report/text_report.hpp"
#include "trace/report/weight.hpp"

namespace sframe_gen::trace::report {

/// What a profile tells besides its samples.
struct ProfileHead {
  std::vector<recorded::SampledEvent> events;
  std::string comment;                          ///< the command line of the recording
  std::optional<std::int64_t> wall_minus_time;  ///< ns from the times of samples to those since 1970; none: not known
};

/// Samples as a gzip'd profile.proto, which `go tool pprof` and stores of profiles read. Samples of one thread with the
/// same frames are counted together. Addresses are those in files, so that processes share what they have in common.
class PprofProfile {
 public:
  PprofProfile();
  PprofProfile(const PprofProfile&) = delete;
  PprofProfile& operator=(const PprofProfile&) = delete;

  void add(recorded::KernelNames& kernel, const recorded::Sample& sample);
  /// Once.
  void write(std::ostream& out, const ProfileHead& head);

 private:
  using Id = std::uint64_t;  ///< of texts from 0, of all others from 1

  struct Mapping {
    std::uint64_t begin = 0, end = 0, file_offset = 0;
    Id file_name = 0, build_id = 0;
    bool has_lines = false, has_inlined = false;
  };
  struct Function {
    Id name = 0, symbol = 0, source_file = 0;
    friend auto operator<=>(const Function&, const Function&) = default;  // NOLINT(modernize-use-nullptr)
  };
  struct Line {
    Id function = 0;
    std::uint64_t line = 0;  ///< 0: unknown
  };
  struct Location {
    Id mapping = 0;
    std::uint64_t address = 0;
    std::vector<Line> lines;  ///< the innermost first, if calls were inlined
  };
  /// What the values of samples are.
  struct ValueType {
    Id type = 0, unit = 0;
  };

  Id text(std::string_view text);
  Id function(std::string_view name, std::string_view symbol, std::string_view source_file);
  Id mapping_named(std::string_view name);
  Id mapping_of(const NamedFrame& named, const walk::Frame& frame);
  Id location(Id mapping, std::uint64_t address, std::vector<Line> lines);
  std::vector<Line> lines_of(const NamedFrame& named);
  Id location_of(const walk::Frame& frame);
  ValueType own_value_of(const recorded::SampledEvent& event);
  Id main_mapping();
  void append_types(std::string& profile, const ProfileHead& head);
  void append_samples(std::string& profile) const;
  void append_mappings(std::string& profile);
  void append_places(std::string& profile) const;

  SeededMap<std::string, Id> text_ids_;
  std::vector<const std::string*> texts_;
  std::vector<Function> functions_;
  std::map<Function, Id> function_ids_;
  std::vector<Mapping> mappings_;
  std::map<const walk::CodeFile*, Id> file_mappings_;
  SeededMap<Id, Id> other_mappings_;  ///< by name
  std::vector<Location> locations_;
  /// By mapping, address and outermost function.
  std::map<std::tuple<Id, std::uint64_t, Id>, Id> location_ids_;
  std::map<std::tuple<const trace::walk::Location*, std::uint64_t, bool>, Id> frame_ids_;
  /// By event, process, thread, their names, and locations from the innermost one.
  std::map<std::vector<Id>, Weight> samples_;
  std::map<std::size_t, TotalWeight> totals_;      ///< by event
  std::map<std::string, std::uint64_t> programs_;  ///< samples by the file that the process runs
  std::vector<Id> key_;                            ///< its room is used again
  std::uint64_t first_ns_ = 0, last_ns_ = 0;
};

}  // namespace sframe_gen::trace::report
