#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sframe_gen/format.hpp"
#include "support/endian.hpp"
#include "support/mapped_file.hpp"
#include "trace/walk/code_file.hpp"

namespace sframe_gen::trace::walk {

/// A function that a just-in-time compiler made.
struct JitFunction {
  std::string_view name;
  std::span<const std::byte> code;
  std::span<const std::byte> unwinding;  ///< .eh_frame, then .eh_frame_hdr; empty: none
  std::uint64_t header_size = 0;         ///< of .eh_frame_hdr
};

/// From a time on, a function is at an address.
struct JitPlacement {
  std::uint64_t time = 0;  ///< ns of CLOCK_MONOTONIC
  std::uint64_t address = 0;
  std::size_t function = 0;  ///< index
};

/// What a just-in-time compiler writes to jit-PID.dump as it goes on
/// (tools/perf/Documentation/jitdump-specification.txt of Linux). What is there before the first damaged record counts:
/// a program that was killed has not written its last.
class JitDump {
 public:
  /// Throws MalformedInput for a damaged header, and Refused for another machine's code or times of another clock.
  JitDump(MappedFile file, sframe::Abi abi);

  const std::string& name() const { return file_.name(); }
  std::uint16_t machine() const { return machine_; }
  Endian endian() const { return endian_; }
  std::size_t function_count() const { return functions_.size(); }
  JitFunction function(std::size_t index) const;
  /// By time.
  const std::vector<JitPlacement>& placements() const { return placements_; }

 private:
  /// Where a function's parts are in the file, which has 4 GiB at most: there may be a million of them.
  struct PlacesOfFunction {
    std::uint32_t name, name_size, code, code_size, unwinding, unwinding_size, header_size;
  };

  void read_header(sframe::Abi abi);
  void read_records();
  PlacesOfFunction places_of(const JitFunction& function) const;

  MappedFile file_;
  Endian endian_;
  std::uint16_t machine_ = 0;
  std::size_t header_size_ = 0;
  std::vector<PlacesOfFunction> functions_;
  std::vector<JitPlacement> placements_;
};

/// An ELF file of one function with a symbol, where its call frame information expects the code to be.
std::vector<std::byte> elf_file_of(const JitFunction& function, std::uint16_t machine, Endian endian);
/// Where that file has the code: address and offset.
inline constexpr std::uint64_t jit_code_address = 0x200;

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
