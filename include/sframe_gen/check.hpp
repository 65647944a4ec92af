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
#include "sframe_gen/verdicts.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// Tells which readers support the .sframe section of a file. Their rules are known; no reader is run.
namespace sframe_gen {

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
