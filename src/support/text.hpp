#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sframe_gen {

/// "0x1f": addresses, offsets and sizes in messages.
std::string hex(std::uint64_t value);

/// `text` with control characters as \\xNN: a file's name must not be able to write on the terminal.
std::string printable(std::string_view text);

/// Returns the bytes up to the first zero, or all of them: how ELF and the kernel's records keep names.
std::string_view text_before_zero(std::span<const std::byte> bytes);

/// " (one, another)", or nothing.
std::string in_parentheses(const std::vector<std::string>& clauses);

/// "1 row", "2 rows".
std::string count_of(std::uint64_t count, std::string_view noun);

/// How many bytes of names may be copied out of one file. Any number of headers or symbols may share one long name, so
/// a file of 5 MB could ask for 60 GB of copies. Linkers and assemblers let few share one (".text.f" is the end of
/// ".rela.text.f", and a function has a few holes), so four times the file's size is beyond what any of them needs.
/// 1 MiB more is for small files.
class NameBudget {
 public:
  explicit NameBudget(std::uint64_t file_size) : left_(4 * file_size + (std::uint64_t{1} << 20U)) {}

  /// Bytes: a name is looked at no further than this.
  std::uint64_t left() const { return left_; }

  /// False, from then on for every name but the empty one, where the name is longer than what is left.
  bool take(std::uint64_t name_size) {
    const bool fits = name_size <= left_;
    left_ = fits ? left_ - name_size : 0;
    return fits;
  }

 private:
  std::uint64_t left_;
};

/// `text`, or its first bytes, "…" and 8 digits of its hash if it has more than `most`: two long names stay two. A
/// letter of UTF-8 is not cut.
std::string shortened(std::string text, std::size_t most);

/// `text` with U+FFFD in the place of what is no UTF-8: the kernel cuts names inside a letter.
std::string valid_utf8(std::string_view text);

}  // namespace sframe_gen
