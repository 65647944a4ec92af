#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sframe_gen/error.hpp"
#include "sframe_gen/format.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// Asks readers by name whether they take the .sframe section of a file. Each is known by its rules, none is run.
namespace sframe_gen {

/// What a reader makes of a section.
struct ReaderVerdict {
  enum class Kind : std::uint8_t {
    Accepts,
    Refuses,   ///< it says so, or leaves the section alone
    Misreads,  ///< it does not notice that it cannot: wrong rows, lost ones, or a crash
  };
  const ReaderTarget* reader = nullptr;
  Kind kind = Kind::Accepts;
  std::string why;  ///< but for Accepts: "it is SFrame version 3 (.sframe+0x2); glibc takes version 2 only"
  bool helped_by_target = false;  ///< --for of its name writes one that it takes
};

/// A file, or a member of an archive.
struct CheckedSection {
  std::string name;  ///< "libfoo.a(bar.o)"
  std::vector<ReaderVerdict> verdicts;
};

/// Calls `visit` for the file, or for each member of an archive that has the section; then `failed` for those that are
/// no sound ELF files. A damaged section is a matter of verdicts. Without `readers`, those are asked that read such
/// files: linkers read objects, others linked files. Throws Failure; Refused where there is no .sframe.
void check_readers(const std::filesystem::path& file, std::span<const ReaderTarget* const> readers,
                   const std::function<void(const CheckedSection&)>& visit,
                   const std::function<void(const Failure&)>& failed);

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
