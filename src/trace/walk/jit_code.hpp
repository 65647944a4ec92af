#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/walk/code_file.hpp"
#include "trace/walk/jit_dump.hpp"

namespace sframe_gen::trace::walk {

/// The code that a program made itself, by its jitdump: which function is where, at a time that goes on.
class JitCode {
 public:
  /// Called when the first PC asks. May throw Failure, which becomes why_not().
  using Open = std::function<JitDump()>;

  /// A function in its place.
  struct Part {
    std::uint64_t begin, end;
    std::size_t placement;  ///< tells it from all others
  };

  /// `options` and `root` are as for a CodeFile.
  JitCode(Open open, const TranslationOptions& options, const FileRoot& root)
      : open_(std::move(open)), options_(options), root_(root) {}
  JitCode(const JitCode&) = delete;
  JitCode& operator=(const JitCode&) = delete;

  /// Goes to a time in ns; never back.
  void go_to(std::uint64_t time) { time_ = time; }

  /// None: what is there is not known.
  std::optional<Part> part_at(std::uint64_t pc);
  std::size_t function_of(const Part& part) const { return dump_->placements()[part.placement].function; }
  /// Without it, a function has no rows.
  bool has_unwinding(std::size_t function) const { return !dump_->function(function).unwinding.empty(); }
  /// A function as a file, in which its code is at jit_code_address. The last few are kept.
  std::shared_ptr<CodeFile> file_of(std::size_t function);
  /// Fit to be printed. Valid as long as this object; empty: it has none.
  std::string_view name_of(std::size_t function);

  /// Of the dump.
  const std::string& name() const;
  /// Why the dump is not used; empty: it is, or was not asked.
  const std::string& why_not() const { return why_not_; }

 private:
  void place(std::size_t placement);

  Open open_;  ///< null: it was called
  const TranslationOptions& options_;
  const FileRoot& root_;
  std::string why_not_;
  std::optional<JitDump> dump_;
  std::uint64_t time_ = 0;
  std::size_t next_ = 0;                 ///< placement
  std::map<std::uint64_t, Part> parts_;  ///< by begin; none overlap
  struct MadeFile {
    std::size_t function = 0;
    std::shared_ptr<CodeFile> file;
  };
  std::vector<MadeFile> files_;               ///< each at the one place that its number leads to
  std::map<std::size_t, std::string> names_;  ///< by function, unless the dump's own is fit to be printed
};

}  // namespace sframe_gen::trace::walk
