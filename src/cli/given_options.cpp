#include "cli/given_options.hpp"

#include <algorithm>
#include <cctype>

#include "cli/usage_error.hpp"

namespace sframe_gen::cli {

namespace {

/// "3, 2, 1 or ctf"; "'auto', 'always' or 'never'": numbers stand bare, words in quotes.
std::string list_of(std::span<const Choice> choices) {
  const bool numbers = std::isdigit(static_cast<unsigned char>(choices.front().name.front())) != 0;
  const std::string quote = numbers ? "" : "'";
  std::string text;
  for (const Choice& choice : choices) {
    const bool last = &choice == &choices.back();
    text += &choice == &choices.front() ? "" : last ? " or " : ", ";
    text.append(quote).append(choice.name).append(quote);
  }
  return text;
}

}  // namespace

std::optional<std::string> GivenOptions::value_of(std::string_view option) const {
  const auto found = values.find(option);
  return found == values.end() ? std::nullopt : std::optional(found->second.at(0));
}

std::vector<std::string> GivenOptions::values_of(std::string_view option) const {
  const auto found = values.find(option);
  return found == values.end() ? std::vector<std::string>() : found->second;
}

const Choice* GivenOptions::find_choice(std::string_view option) const {
  const std::optional<std::string> value = value_of(option);
  if (!value) return nullptr;
  const std::span<const Choice> choices = option_named(option).argument.choices;
  const auto found = std::ranges::find(choices, *value, &Choice::name);
  if (found == choices.end())
    throw UsageError("--" + std::string(option) + " is " + list_of(choices) + ", not '" + *value + "'");
  return &*found;
}

}  // namespace sframe_gen::cli
