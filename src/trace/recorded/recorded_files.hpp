#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "sframe_gen/format.hpp"
#include "support/hash.hpp"
#include "support/mapped_file.hpp"
#include "trace/walk/address_space.hpp"

namespace sframe_gen::trace {

/// The files of a recording, as they are on disk now, if they still are what was recorded.
class RecordedFiles {
 public:
  /// `root`: the folder below which they are.
  RecordedFiles(std::filesystem::path root, const TranslationOptions& options)
      : root_(std::move(root)), options_(options) {}

  /// Of which machine the recording is: any other's files are none of it. And the recording itself: what has changed
  /// since it was written is none of it, if nothing else tells.
  void expect(sframe::Abi abi, const FileIdentity& recording) {
    abi_ = abi;
    recording_ = recording;
  }

  OpenedFile open(const Mapping& mapping);

 private:
  OpenedFile open_anew(const Mapping& mapping) const;

  std::filesystem::path root_;
  const TranslationOptions& options_;
  std::optional<sframe::Abi> abi_;
  FileIdentity recording_;
  SeededMap<std::string, OpenedFile> files_;  ///< by path and what tells it from others of that path
};

}  // namespace sframe_gen::trace
