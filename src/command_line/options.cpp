#include "command_line/options.hpp"

#include <boost/program_options.hpp>

#include <algorithm>
#include <cassert>
#include <cctype>
#include <sstream>

namespace po = boost::program_options;

namespace sframe_gen::command_line {

namespace {

using Words = std::vector<std::string>;

constexpr const char* positional = "file";

void describe(const Option& option, po::options_description& list) {
  std::string names(option.name);
  if (option.letter != 0) names += {',', option.letter};
  const std::string help(option.help);
  const Argument& argument = option.argument;
  if (argument.kind == ArgumentKind::None) {
    list.add_options()(names.c_str(), help.c_str());
    return;
  }
  const std::string name(argument.name);
  const std::string shown_name = argument.alone.empty() ? name : "[=" + name + "]";
  if (argument.repeats) {
    list.add_options()(names.c_str(), po::value<Words>()->value_name(shown_name), help.c_str());
    return;
  }
  // A path's own extraction operator would stop at the first space.
  auto* const value = po::value<std::string>()->value_name(shown_name);
  if (!argument.preset.empty()) value->default_value(std::string(argument.preset));
  list.add_options()(names.c_str(), value, help.c_str());
}

/// Whether `word` may be this option or a cluster of short options with this one. It may be neither.
bool may_name(const std::string& word, const Option& option) {
  if (!word.starts_with("--")) return word.starts_with('-') && word.find(option.letter, 1) != std::string::npos;
  const std::string_view rest = std::string_view(word).substr(2);
  return rest.starts_with(option.name) && (rest.size() == option.name.size() || rest[option.name.size()] == '=');
}

/// Describes all options, or those that `words` may name: describing all takes a tenth of the time of a small file.
po::options_description describe(std::span<const Option> table, const Words* words = nullptr) {
  constexpr unsigned line_width = 100, text_width = 60;
  po::options_description all(line_width, text_width);
  for (auto option = table.begin(); option != table.end();) {
    const std::string_view heading = option->heading;
    po::options_description list(std::string(heading), line_width, text_width);
    for (; option != table.end() && option->heading == heading; ++option) {
      const auto names = [&](const std::string& word) { return may_name(word, *option); };
      if (words == nullptr || std::ranges::any_of(*words, names)) describe(*option, list);
    }
    all.add(list);
  }
  return all;
}

/// The words with the argument added that an option means alone: Boost would use the next word.
Words with_arguments(std::span<const Option> table, int argument_count, const char* const* arguments) {
  Words words(arguments + std::min(1, argument_count), arguments + argument_count);
  for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
    const auto option = std::ranges::find_if(table, [&](const Option& known) {
      return !known.argument.alone.empty() && word->starts_with("--") && word->substr(2) == known.name;
    });
    if (option != table.end()) word->append("=").append(option->argument.alone);
  }
  return words;
}

po::variables_map parse(const po::options_description& options, const Words& words) {
  po::positional_options_description files;
  files.add(positional, -1);
  namespace style = po::command_line_style;
  po::variables_map values;
  try {
    po::store(po::command_line_parser(words)
                  .options(options)
                  .positional(files)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              values);
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  return values;
}

Words values_of(const Argument& argument, const po::variable_value& value) {
  if (argument.kind == ArgumentKind::None) return {};
  return argument.repeats ? value.as<Words>() : Words{value.as<std::string>()};
}

/// "3, 2, 1 or ctf"; "'auto', 'always' or 'never'": words are quoted, numbers are not.
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

Given::Given(std::span<const Option> table, int argument_count, const char* const* arguments) : table_(table) {
  const Words words = with_arguments(table, argument_count, arguments);
  po::options_description options = describe(table, &words);
  options.add_options()(positional, po::value<Words>());
  const po::variables_map values = parse(options, words);
  for (const Option& option : table) {
    const auto value = values.find(std::string(option.name));
    if (value == values.end() || value->second.empty() || value->second.defaulted()) continue;
    values_.emplace(option.name, command_line::values_of(option.argument, value->second));
  }
  if (values.count(positional) != 0) files_ = values[positional].as<Words>();
}

std::optional<std::string> Given::value_of(std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::nullopt : std::optional(found->second.at(0));
}

std::vector<std::string> Given::values_of(std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? Words() : found->second;
}

const Choice* Given::find_choice(std::string_view option) const {
  const std::optional<std::string> value = value_of(option);
  if (!value) return nullptr;
  const auto described = std::ranges::find(table_, option, &Option::name);
  assert(described != table_.end());
  const std::span<const Choice> choices = described->argument.choices;
  const auto found = std::ranges::find(choices, *value, &Choice::name);
  if (found == choices.end())
    throw UsageError("--" + std::string(option) + " is " + list_of(choices) + ", not '" + *value + "'");
  return &*found;
}

std::string described(std::span<const Option> table) {
  std::ostringstream text;
  text << describe(table);
  return text.str();
}

}  // namespace sframe_gen::command_line
