#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sframe_gen/format.hpp"
#include "trace/files/file_root.hpp"
#include "trace/perf/perf_data_file.hpp"
#include "trace/walk/address_space.hpp"

namespace sframe_gen::trace::recorded {

/// Files that were opened as programs mapped them, which may be gone under their names.
struct KeptOpen {
  std::function<walk::OpenedFile(const walk::Mapping&)> code;
  /// Never null.
  std::function<std::shared_ptr<const OpenFile>(const walk::Mapping&)> jitdump;
};

/// The files of a recording: as they are on disk now, if they still are what was recorded, or as they were kept open.
class RecordedFiles {
 public:
  /// `root`: where they are. `kept_open`: asked instead for what mappings name, if it is given.
  RecordedFiles(const FileRoot& root, const walk::TranslationOptions& options, KeptOpen kept_open = {})
      : root_(root), options_(options), kept_open_(std::move(kept_open)) {}

  /// Sets the ABI and the identity of the recording. Files of other ABIs are rejected. A mapping without a build-id
  /// also rejects a file that has changed since the recording was written. `has_monotonic_times`: its times are those
  /// of CLOCK_MONOTONIC, as a jitdump's are.
  void expect(sframe::Abi abi, const FileIdentity& recording, bool has_monotonic_times) {
    abi_ = abi;
    recording_ = recording;
    has_monotonic_times_ = has_monotonic_times;
  }

  walk::OpenedFile open(const walk::Mapping& mapping);

  /// The code of a process, if the mapping is that of its jitdump; else null. Asked once for each mapping.
  std::shared_ptr<walk::JitCode> jit_code(const walk::Mapping& mapping);

  /// Names of files without a build-id whose inode was changed after the recording, but not their contents: they got a
  /// link, a name, an owner or a mode.
  const std::vector<std::string>& relabeled() const { return relabeled_; }
  const walk::PerfMaps& perf_maps() const { return perf_maps_; }
  /// "/tmp/jit-4711.dump: for another architecture": those that are asked for and cannot be used.
  std::vector<std::string> refused_jitdumps() const;

 private:
  walk::OpenedFile open_first(const walk::Mapping& mapping);
  walk::OpenedFile open_here(const walk::Mapping& mapping);
  walk::OpenedFile fetch(const walk::Mapping& mapping) const;
  walk::JitDump open_jitdump(const walk::Mapping& mapping);

  const FileRoot& root_;
  const walk::TranslationOptions& options_;
  KeptOpen kept_open_;
  std::optional<sframe::Abi> abi_;
  FileIdentity recording_;
  bool has_monotonic_times_ = false;
  std::vector<std::shared_ptr<walk::JitCode>> jit_codes_;
  std::uint64_t jitdump_bytes_ = 0;  ///< of those that were opened
  std::vector<std::string> relabeled_;
  walk::OpenedFiles files_;
  walk::PerfMaps perf_maps_;
};

}  // namespace sframe_gen::trace::recorded
