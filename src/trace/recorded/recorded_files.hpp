#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "sframe_gen/format.hpp"
#include "support/seeded_hash.hpp"
#include "trace/walk/address_space.hpp"

namespace sframe_gen::trace {

/// The files of a recording, as they are on disk now, if they still are what was recorded.
class RecordedFiles {
 public:
  /// `root`: the folder below which they are.
  RecordedFiles(std::filesystem::path root, const TranslationOptions& options)
      : root_(std::move(root)), options_(options) {}

  /// Of which machine the recording is: any other's files are none of it.
  void expect(sframe::Abi abi) { abi_ = abi; }

  OpenedFile open(const Mapping& mapping);

 private:
  OpenedFile open_anew(const Mapping& mapping) const;

  std::filesystem::path root_;
  const TranslationOptions& options_;
  std::optional<sframe::Abi> abi_;
  SeededMap<std::string, OpenedFile> files_;  ///< by path and what tells it from others of that path
};

}  // namespace sframe_gen::trace
