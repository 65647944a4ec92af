#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sframe_gen/error.hpp"
#include "sframe_gen/format.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// Tells which readers support the .sframe section of a file. Their rules are known; no reader is run.
namespace sframe_gen {

/// What a reader makes of a section.
struct ReaderVerdict {
  enum class Kind : std::uint8_t {
    Accepts,
    Refuses,   ///< it reports an error, or leaves the section alone
    Misreads,  ///< it does not notice that it cannot read the section: wrong rows, lost ones, or a crash
  };
  const ReaderTarget* reader = nullptr;
  Kind kind = Kind::Accepts;
  // But for Accepts:
  std::string finding;                  ///< the first fact that the reader does not support: "it is SFrame version 3"
  std::optional<std::uint64_t> offset;  ///< of the fact in .sframe, in bytes; no value if it has no place there
  std::string_view rule;                ///< what the reader does about it, without its name: "supports only version 2"
  bool helped_by_target = false;        ///< a conversion with `reader`'s format writes a section that it supports
  std::string_view patches;             ///< that are meant, of a reader that is not released for the file's machine
};

/// Returns why no section is made for a reader: "reads another layout"; "" for most. If not empty, `--for` of the
/// program does not take its name.
std::string_view why_no_format(const ReaderTarget& reader);

/// Returns "it is SFrame version 3 (.sframe+0x2); glibc supports only version 2"; "" for Accepts.
std::string reason_of(const ReaderVerdict& verdict);

/// A file, or a member of an archive.
struct CheckedSection {
  std::string name;  ///< "libfoo.a(bar.o)"
  std::vector<ReaderVerdict> verdicts;
};

/// Calls `visit` for the file, or for each member of an archive that has the section; then `failed` for members that
/// are not sound ELF files. A damaged section is a matter of verdicts. Without `readers`, all that read files of this
/// kind are asked: linkers read objects, others linked files. Throws Failure; Refused if there is no .sframe.
void check_readers(const std::filesystem::path& file, std::span<const ReaderTarget* const> readers,
                   const std::function<void(const CheckedSection&)>& visit,
                   const std::function<void(const Failure&)>& failed);

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
