#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cfi/rules.hpp"
#include "elf/image.hpp"
#include "sframe_gen/format.hpp"
#include "stubs/pattern.hpp"

/// Code whose instructions say all that unwinding needs, exactly: the stubs of procedure linkage tables, and the pieces
/// that a program starts and ends with.
namespace sframe_gen::stubs {

/// Stubs of one kind, one behind the other.
struct Run {
  std::uint64_t start = 0;  ///< virtual address
  std::uint64_t size = 0;   ///< bytes, not zero
  std::uint64_t entries = 1;
  std::uint8_t repeat_size = 0;     ///< bytes after which the rows start over; 0: they do not
  std::vector<cfi::FrameRow> rows;  ///< ascending, the first at offset 0; of one entry where they repeat
  std::string_view form;            ///< "GNU ld, lld"
  std::uint64_t end() const { return start + size; }
};

struct Found {
  std::vector<Run> runs;        ///< ascending, disjoint
  std::vector<Range> sections;  ///< ranges where stubs stand, and nothing else; ascending, disjoint
};

/// The stubs of a program or library, for a machine that SFrame knows. Whatever is not exactly as a linker writes it is
/// not among them.
Found find_stubs(const elf::Image& image);

/// Puts stubs that stand one behind the other into runs.
class RunBuilder {
 public:
  explicit RunBuilder(std::string_view form) : form_(form) {}

  void add_header(const Pattern& pattern, std::uint64_t start);
  /// Joins the run before it if it unwinds alike.
  void add_entry(const Pattern& pattern, std::uint64_t start);

  std::uint64_t known_bytes() const { return known_bytes_; }
  std::vector<Run>& runs() { return runs_; }

 private:
  void append(const Pattern& pattern, std::uint64_t start, bool is_entry);

  std::string_view form_;
  std::vector<Run> runs_;
  bool last_is_entry_ = false;
  const Pattern* joined_ = nullptr;  ///< the last run has grown by such an entry; others like it fit, too
  std::uint64_t known_bytes_ = 0;
};

/// Adds the stubs of a file without section headers, as far as PT_DYNAMIC leads to them: the header that refers to
/// DT_PLTGOT's table and the entries behind it, up to the first that is not known; and, where a call goes by a second
/// stub, those that jump by a slot of DT_JMPREL. Nothing says where .plt.got, .iplt, .init and .fini are.
void find_without_section_headers(const elf::Image& image, const Surroundings& around, sframe::Abi abi, Found& found);

}  // namespace sframe_gen::stubs
