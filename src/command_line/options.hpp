#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// What both programs share of reading their command lines: a table of options, which is parsed by and printed by
/// --help. Which options go together is each program's own.
namespace sframe_gen::command_line {

/// Wrong usage: exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One of the words that an option takes.
struct Choice {
  std::string_view name;     ///< "asm"
  int value = 0;             ///< of the enumeration that it stands for
  std::string_view meaning;  ///< a few words, for completions
};

enum class ArgumentKind : std::uint8_t {
  None,    ///< a flag
  Choice,  ///< one of `choices`
  Reader,  ///< names of readers
  Target,  ///< the name of a reader that sections are made for
  File,    ///< a path
  Text,    ///< anything else: a number, a pattern
};

struct Argument {
  ArgumentKind kind = ArgumentKind::None;
  std::string_view name{};  ///< "FILE"
  std::span<const Choice> choices{};
  bool repeats = false;      ///< may be given several times
  std::string_view alone{};  ///< what the option means without an argument, which otherwise follows an equals sign
};

inline constexpr Argument flag;
constexpr Argument file(std::string_view name) {
  return {.kind = ArgumentKind::File, .name = name};
}
constexpr Argument text(std::string_view name, std::string_view alone = {}) {
  return {.kind = ArgumentKind::Text, .name = name, .alone = alone};
}

struct Option {
  std::string_view name;  ///< without its hyphens
  char letter = 0;
  std::string_view heading;  ///< of the list that --help prints it in; a list is one piece of the table
  Argument argument;
  std::string_view help;  ///< a few words, for --help and completions
};

/// An option of another program that people type from habit, and what to do instead.
struct Hint {
  std::string_view option;  ///< with its hyphens: "-z", "--stdio"
  std::string_view instead;
};

/// The options and files of a command line as the user typed them. The table has each option; nothing else is checked.
class Given {
 public:
  /// Throws UsageError. An option may not be given twice unless it repeats, nor shortened. `hints`: for options that
  /// the table does not have.
  Given(std::span<const Option> table, int argument_count, const char* const* arguments,
        std::span<const Hint> hints = {});

  bool has(std::string_view option) const { return values_.contains(option); }
  std::optional<std::string> value_of(std::string_view option) const;
  /// Returns the values of an option that may be repeated.
  std::vector<std::string> values_of(std::string_view option) const;
  /// What the word given to `option` means. Throws UsageError if it is no choice.
  template <typename Enum>
  std::optional<Enum> choice_of(std::string_view option) const {
    const Choice* const choice = find_choice(option);
    return choice == nullptr ? std::nullopt : std::optional<Enum>(static_cast<Enum>(choice->value));
  }
  const std::vector<std::string>& files() const { return files_; }

 private:
  const Choice* find_choice(std::string_view option) const;

  std::span<const Option> table_;
  std::map<std::string_view, std::vector<std::string>> values_;  ///< by the option's name; a flag has none
  std::vector<std::string> files_;
};

/// The table as --help lists it: a line for each option, as GNU programs have them.
std::string described(std::span<const Option> table);

/// " (did you mean 'verify'?)" if one of `names` is spelled nearly as `word`, else nothing.
std::string suggestion_for(std::string_view word, std::span<const std::string> names);

/// `text` if all of it is a number.
template <typename Number>
std::optional<Number> number_of(std::string_view text, int base = 10) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace sframe_gen::command_line
