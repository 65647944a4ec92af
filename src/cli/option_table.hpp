#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "cli/options.hpp"

/// Every option of the program, once. What is parsed, which options go together, --help, the completions of three
/// shells and the list in the manual are all made from this table.
namespace sframe_gen::cli {

/// Some values in a row of the table.
template <typename Value>
class List {
 public:
  constexpr List() = default;
  constexpr List(std::initializer_list<Value> values) : size_(values.size()) {
    std::ranges::copy(values, values_.begin());
  }
  constexpr const Value* begin() const { return values_.data(); }
  constexpr const Value* end() const { return values_.data() + size_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool contains(const Value& value) const { return std::ranges::find(*this, value) != end(); }

 private:
  std::array<Value, 12> values_{};
  std::size_t size_ = 0;
};

/// What --check asks without names.
inline constexpr std::string_view every_reader = "all";

/// The headings below which options are listed.
enum class Group : std::uint8_t { Action, Files, Format, Report };
inline constexpr std::initializer_list<Group> all_groups{Group::Action, Group::Files, Group::Format, Group::Report};

/// One of the words that an option takes.
struct Choice {
  std::string_view name;     ///< "asm"
  int value = 0;             ///< of the enumeration that it stands for
  std::string_view meaning;  ///< a few words
  std::string_view manual;   ///< the manual's sentences, or none
};

enum class ArgumentKind : std::uint8_t {
  None,    ///< a flag
  Choice,  ///< one of `choices`
  Reader,  ///< one of reader_targets()
  File,    ///< a path
  Text,    ///< anything else: a number, a pattern
};

struct Argument {
  ArgumentKind kind = ArgumentKind::None;
  std::string_view name;  ///< "FILE"
  std::span<const Choice> choices{};
  std::string_view preset{};  ///< what holds without the option, if --help says so
  bool repeats = false;       ///< may be given several times
  std::string_view alone{};   ///< what the option means without an argument, which else stands behind an equals sign
};

/// The actions that an option goes with, and who is meant where one is used with another.
struct Limit {
  List<Action> actions{};
  std::string_view who{};  ///< "--this and --that"; empty: the option
};

struct Option {
  std::string_view name;  ///< without its hyphens
  char short_name = 0;
  Group group = Group::Report;
  Action action = Action::Convert;  ///< what the option asks for; Convert: nothing but a detail of it
  Argument argument{};
  std::string_view brief;   ///< for completions: a few words
  std::string_view help;    ///< for --help: a clause without a capital
  std::string_view manual;  ///< for the manual: sentences, *bold* where no option or argument's name makes them so

  const Limit* limit = nullptr;                  ///< null: goes with every action that is not named below
  List<Action> not_with{};                       ///< actions that have no use for it
  std::span<const std::string_view> excludes{};  ///< options; each pair stands once, with the first of its message
  std::string_view needs{};                      ///< the option it is a detail of
  bool takes_one_file = false;                   ///< not several
};

std::span<const Option> option_table();

/// The option with this name, which must be one.
const Option& option_named(std::string_view name);

/// The option that asks for `action`, which is not Convert.
const Option& option_for(Action action);

/// Whether no command line can have both.
bool exclude_each_other(const Option& one, const Option& other);

/// "Files"
std::string_view heading_of(Group group);

}  // namespace sframe_gen::cli
