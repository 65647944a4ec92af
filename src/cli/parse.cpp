// Boost's part: the table as its description, which it parses by and prints.

#include <boost/program_options.hpp>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "cli/given_options.hpp"
#include "cli/usage_error.hpp"

namespace po = boost::program_options;

namespace sframe_gen::cli {

namespace {

using Values = std::vector<std::string>;

constexpr const char* positional = "file";

void describe(const Option& option, po::options_description& group) {
  std::string names(option.name);
  if (option.short_name != 0) names += {',', option.short_name};
  const std::string help(option.help);
  const Argument& argument = option.argument;
  if (argument.kind == ArgumentKind::None) {
    group.add_options()(names.c_str(), help.c_str());
    return;
  }
  const std::string name(argument.name);
  const std::string argument_name = argument.alone.empty() ? name : "[=" + name + "]";
  if (argument.repeats) {
    group.add_options()(names.c_str(), po::value<Values>()->value_name(argument_name), help.c_str());
    return;
  }
  // Paths are read as strings: with spaces in them, path's own extraction operator would stop at the first.
  auto* const value = po::value<std::string>()->value_name(argument_name);
  if (!argument.preset.empty()) value->default_value(std::string(argument.preset));
  group.add_options()(names.c_str(), value, help.c_str());
}

Values values_of(const Argument& argument, const po::variable_value& value) {
  if (argument.kind == ArgumentKind::None) return {};
  return argument.repeats ? value.as<Values>() : Values{value.as<std::string>()};
}

/// With what is not an option's name or a cluster of short ones, too.
bool may_name(const std::string& word, const Option& option) {
  if (!word.starts_with("--")) return word.starts_with('-') && word.find(option.short_name, 1) != std::string::npos;
  const std::string_view rest = std::string_view(word).substr(2);
  return rest.starts_with(option.name) && (rest.size() == option.name.size() || rest[option.name.size()] == '=');
}

/// Of all options, or of those that `words` may name: to describe them all takes a tenth of a millisecond.
po::options_description description(const Values* words = nullptr) {
  constexpr unsigned line_width = 100, text_width = 60;
  po::options_description all(line_width, text_width);
  const auto is_wanted = [&](const Option& option) {
    return words == nullptr ||
           std::ranges::any_of(*words, [&](const std::string& word) { return may_name(word, option); });
  };
  for (const Group group : all_groups) {
    po::options_description options(std::string(heading_of(group)), line_width, text_width);
    for (const Option& option : option_table()) {
      if (option.group == group && is_wanted(option)) describe(option, options);
    }
    all.add(options);
  }
  return all;
}

/// Boost would take the next word for an argument that may be left away.
Values with_arguments(int argument_count, const char* const* arguments) {
  Values words;
  bool options_are_over = false;
  for (int i = 1; i < argument_count; ++i) {
    std::string& word = words.emplace_back(arguments[i]);
    options_are_over = options_are_over || word == "--";
    if (options_are_over) continue;
    for (const Option& option : option_table()) {
      const bool alone = !option.argument.alone.empty() && word == "--" + std::string(option.name);
      if (alone) word.append("=").append(option.argument.alone);
    }
  }
  return words;
}

po::variables_map parse(int argument_count, const char* const* arguments) {
  const Values words = with_arguments(argument_count, arguments);
  po::options_description all = description(&words);
  all.add_options()(positional, po::value<Values>());
  po::positional_options_description files;
  files.add(positional, -1);
  namespace style = po::command_line_style;
  po::variables_map values;
  try {
    po::store(po::command_line_parser(words)
                  .options(all)
                  .positional(files)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              values);
    po::notify(values);
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  return values;
}

}  // namespace

GivenOptions read_given_options(int argument_count, const char* const* arguments) {
  const po::variables_map values = parse(argument_count, arguments);
  GivenOptions given;
  for (const Option& option : option_table()) {
    const auto value = values.find(std::string(option.name));
    if (value == values.end() || value->second.empty() || value->second.defaulted()) continue;
    given.values.emplace(option.name, values_of(option.argument, value->second));
  }
  if (values.count(positional) != 0) given.files = values[positional].as<Values>();
  return given;
}

std::string described_options() {
  std::ostringstream text;
  text << description();
  return text.str();
}

}  // namespace sframe_gen::cli
