#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sframe_gen/convert.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

namespace sframe_gen {

/// Sections for loaded files that have none, or not for all of their code: translated in memory, from the call frame
/// information of the file on disk. For libsframe-unwind, which links to nothing and so leaves that to its caller:
///
///     TranslatedSections sections;
///     sframe_unwind_backtrace_prepare_with(TranslatedSections::provide, &sections, SFRAME_UNWIND_PROVIDE_MISSING);
///
/// It must outlive the walks, up to sframe_unwind_backtrace_release().
class TranslatedSections {
 public:
  /// A file that was left out, and why.
  struct FailedFile {
    std::string file;
    std::string reason;
  };

  /// Only the format of `options` is used.
  explicit TranslatedSections(const ConvertOptions& options = {}) { options_.format = options.format; }
  TranslatedSections(const TranslatedSections&) = delete;
  TranslatedSections& operator=(const TranslatedSections&) = delete;

  /// An sframe_unwind_provide; `context` is a TranslatedSections. Throws nothing: 0, or an errno. Not in several
  /// threads at a time.
  static int provide(void* context, const char* file, std::uint64_t bias, const void** bytes, std::size_t* size,
                     std::uint64_t* address) noexcept;

  const std::vector<FailedFile>& failed() const { return failed_; }

 private:
  const TranslateOutcome& translate_file(const std::string& file, std::uint64_t bias);

  ConvertOptions options_;
  std::vector<std::unique_ptr<TranslateOutcome>> sections_;
  std::vector<FailedFile> failed_;
};

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
