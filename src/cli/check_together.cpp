// Which options one command line can have, by the table.

#include "cli/given_options.hpp"
#include "cli/usage_error.hpp"

namespace sframe_gen::cli {

namespace {

std::string spelled(std::string_view option) {
  return "--" + std::string(option);
}

[[noreturn]] void fail_with_both(std::string_view one, std::string_view other) {
  throw UsageError(spelled(one) + " and " + spelled(other) + " exclude each other");
}

/// "converting, --emit and --remove"
std::string list_of(const List<Action>& actions) {
  std::string text;
  for (const Action& action : actions) {
    const bool last = &action == actions.end() - 1;
    text += &action == actions.begin() ? "" : last ? " and " : ", ";
    text += action == Action::Convert ? "converting" : spelled(option_for(action).name);
  }
  return text;
}

void check_action(const Option& option, Action action) {
  if (option.not_with.contains(action))
    throw UsageError(spelled(option.name) + " does not go with " + spelled(option_for(action).name));
  if (option.limit == nullptr) return;
  const auto& [actions, who] = *option.limit;
  if (actions.contains(action)) return;
  throw UsageError((who.empty() ? spelled(option.name) + " goes" : std::string(who) + " go") + " with " +
                   list_of(actions) + " only");
}

}  // namespace

Action action_of(const GivenOptions& given) {
  for (const Action action : {Action::Help, Action::Version}) {
    if (given.has(option_for(action).name)) return action;
  }
  const Option* chosen = nullptr;
  for (const Option& option : option_table()) {
    if (option.action == Action::Convert || !given.has(option.name)) continue;
    if (chosen != nullptr) fail_with_both(chosen->name, option.name);
    chosen = &option;
  }
  return chosen == nullptr ? Action::Convert : chosen->action;
}

void check_together(const GivenOptions& given, Action action) {
  for (const auto& [name, value] : given.values) {
    for (const std::string_view other : option_named(name).excludes) {
      if (given.has(other)) fail_with_both(name, other);
    }
  }
  for (const auto& [name, value] : given.values) {
    const Option& option = option_named(name);
    check_action(option, action);
    if (!option.needs.empty() && !given.has(option.needs))
      throw UsageError(spelled(name) + " goes with " + spelled(option.needs) + " only");
    if (option.takes_one_file && given.files.size() > 1)
      throw UsageError(spelled(name) + " takes exactly one input file");
  }
}

}  // namespace sframe_gen::cli
