#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_table.hpp"

namespace sframe_gen::cli {

/// The options and files of a command line as they were typed: nothing is believed but that the table has each option.
struct GivenOptions {
  std::map<std::string_view, std::vector<std::string>> values;  ///< by the option's name; of a flag, none
  std::vector<std::string> files;

  bool has(std::string_view option) const { return values.contains(option); }
  /// None: it was not given.
  std::optional<std::string> value_of(std::string_view option) const;
  /// Of an option that repeats.
  std::vector<std::string> values_of(std::string_view option) const;

  /// What the word given to `option` stands for. None: it was not given. Throws UsageError if it is no choice.
  template <typename Enum>
  std::optional<Enum> choice_of(std::string_view option) const {
    const Choice* const choice = find_choice(option);
    return choice == nullptr ? std::nullopt : std::optional<Enum>(static_cast<Enum>(choice->value));
  }

 private:
  const Choice* find_choice(std::string_view option) const;
};

/// Throws UsageError.
GivenOptions read_given_options(int argument_count, const char* const* arguments);

/// What they ask for, which must be one thing. Throws UsageError.
Action action_of(const GivenOptions& given);

/// Holds them against each other, as the table says. Throws UsageError.
void check_together(const GivenOptions& given, Action action);

/// The table as --help lists it.
std::string described_options();

}  // namespace sframe_gen::cli
