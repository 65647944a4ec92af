#include "command_line/options.hpp"

#include <boost/program_options.hpp>

#include <algorithm>
#include <cassert>
#include <utility>

#include "support/text.hpp"

namespace po = boost::program_options;

namespace sframe_gen::command_line {

namespace {

using Words = std::vector<std::string>;

constexpr const char* positional = "file";

/// Whether `word` may be this option or a cluster of short options with this one. It may be neither.
bool may_name(const std::string& word, const Option& option) {
  if (!word.starts_with("--")) return word.starts_with('-') && word.find(option.letter, 1) != std::string::npos;
  const std::string_view rest = std::string_view(word).substr(2);
  return rest.starts_with(option.name) && (rest.size() == option.name.size() || rest[option.name.size()] == '=');
}

/// Describes the options that `words` may name: describing all takes a tenth of the time of a small file.
po::options_description describe(std::span<const Option> table, const Words& words) {
  po::options_description list;
  for (const Option& option : table) {
    const auto names = [&](const std::string& word) { return may_name(word, option); };
    if (std::ranges::none_of(words, names)) continue;
    std::string spelling(option.name);
    if (option.letter != 0) spelling += {',', option.letter};
    // A path's own extraction operator would stop at the first space.
    // Boost takes ownership of what describes a value.
    const auto describe_value = [&]() -> const po::value_semantic* {
      if (option.argument.repeats) return po::value<Words>();
      if (option.argument.kind != ArgumentKind::None) return po::value<std::string>();
      return new po::untyped_value(true);
    };
    list.add_options()(spelling.c_str(), describe_value(), "");
  }
  return list;
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

/// The number of letters to add, remove, change or swap to make one word of the other.
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> before(other.size() + 1), row(other.size() + 1), next(other.size() + 1);
  for (std::size_t j = 0; j <= other.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = std::exchange(row, next);
  }
  return row.back();
}

[[noreturn]] void fail_unknown(std::span<const Option> table, std::string word, std::span<const Hint> hints) {
  word.resize(std::min(word.size(), word.find('=')));
  // Of a cluster, the letter that is none of the table's.
  const auto is_known = [&](char letter) { return std::ranges::find(table, letter, &Option::letter) != table.end(); };
  if (word.size() > 2 && !word.starts_with("--"))
    word = {'-', *std::find_if_not(std::next(word.begin()), std::prev(word.end()), is_known)};
  if (const auto hint = std::ranges::find(hints, word, &Hint::option); hint != hints.end())
    throw UsageError(word + " is not an option here (" + std::string(hint->instead) + ")");
  std::vector<std::string> names;
  for (const Option& option : table) names.push_back("--" + std::string(option.name));
  throw UsageError("unknown option '" + printable(word) + "'" +
                   (word.starts_with("--") ? suggestion_for(word, names) : ""));
}

po::variables_map parse(std::span<const Option> table, const Words& words, std::span<const Hint> hints) {
  po::options_description options = describe(table, words);
  options.add_options()(positional, po::value<Words>());
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
  } catch (const po::unknown_option& error) {
    fail_unknown(table, error.get_option_name(), hints);
  } catch (const po::multiple_occurrences& error) {
    throw UsageError(error.get_option_name() + " cannot be given twice");
  } catch (const po::invalid_command_line_syntax& error) {
    const bool extra = error.kind() == po::invalid_command_line_syntax::extra_parameter;
    throw UsageError(error.get_option_name() + (extra ? " does not accept an argument" : " requires an argument"));
  } catch (const po::error&) {
    throw UsageError("malformed command line");
  }
  return values;
}

Words values_of(const Argument& argument, const po::variable_value& value) {
  if (argument.kind == ArgumentKind::None) return {};
  return argument.repeats ? value.as<Words>() : Words{value.as<std::string>()};
}

/// "3, 2, 1 or ctf"
std::string list_of(std::span<const Choice> choices) {
  std::string text;
  for (const Choice& choice : choices) {
    const bool last = &choice == &choices.back();
    text += &choice == &choices.front() ? "" : last ? " or " : ", ";
    text += choice.name;
  }
  return text;
}

/// "  -o, --output=FILE", "      --check[=READERS]"
std::string usage_of(const Option& option) {
  const Argument& argument = option.argument;
  std::string text = option.letter == 0 ? "      --" : std::string("  -") + option.letter + ", --";
  text += option.name;
  if (argument.kind == ArgumentKind::None) return text;
  const std::string value = '=' + std::string(argument.name);
  return text + (argument.alone.empty() ? value : '[' + value + ']');
}

}  // namespace

Given::Given(std::span<const Option> table, int argument_count, const char* const* arguments,
             std::span<const Hint> hints)
    : table_(table) {
  const po::variables_map values = parse(table, with_arguments(table, argument_count, arguments), hints);
  for (const Option& option : table) {
    const auto value = values.find(std::string(option.name));
    if (value == values.end() || value->second.empty()) continue;
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
    throw UsageError("--" + std::string(option) + ": unknown value '" + printable(*value) + "' (use " +
                     list_of(choices) + ")");
  return &*found;
}

std::string described(std::span<const Option> table) {
  std::size_t width = 0;
  for (const Option& option : table) width = std::max(width, usage_of(option).size());
  std::string text;
  std::string_view heading;
  for (const Option& option : table) {
    if (option.heading != heading) text += "\n" + std::string(option.heading) + ":\n";
    heading = option.heading;
    std::string usage = usage_of(option);
    usage.resize(width + 2, ' ');
    text += usage + std::string(option.help) + '\n';
  }
  return text;
}

std::string suggestion_for(std::string_view word, std::span<const std::string> names) {
  const auto near = [&](const std::string& name) {
    const std::size_t changes = distance(word, name);
    // What is cut short is meant, too: "--verif".
    return word.size() > 2 && name.starts_with(word) ? std::min<std::size_t>(changes, 1) : changes;
  };
  const auto nearest = std::ranges::min_element(names, {}, near);
  const std::size_t letters = word.size() - std::min(word.size(), word.find_first_not_of('-'));
  const std::size_t most = 1 + letters / 4;
  if (nearest == names.end() || near(*nearest) > most) return {};
  return " (did you mean '" + *nearest + "'?)";
}

}  // namespace sframe_gen::command_line
