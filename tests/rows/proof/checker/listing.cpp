#include "rows/proof/checker/listing.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace sframe_gen::checker {

namespace {

/// The words of one line.
class Words {
 public:
  explicit Words(const std::string& line) : line_(line), at_(line.data()), end_(line.data() + line.size()) {}

  bool skip(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool done() {
    while (skip(' ')) continue;
    return at_ == end_;
  }
  template <class Number>
  Number number(int base) {
    Number value{};
    if (base == 10) skip('+');
    const auto [end, error] = std::from_chars(at_, end_, value, base);
    if (error != std::errc()) fail();
    at_ = end;
    return value;
  }
  void require(char c) {
    if (!skip(c)) fail();
  }
  [[noreturn]] void fail() const { throw std::runtime_error("not a line of a listing: " + line_); }

  std::optional<Place> place() {
    Place place;
    if (skip('a')) {
      place.base = number<std::uint32_t>(16);
    } else if (!skip('c')) {
      return std::nullopt;
    }
    place.offset = number<std::int64_t>(10);
    return place;
  }
  Value value() {
    if (const auto on_stack = place()) return checker::at(*on_stack);
    if (skip('e')) return entry_of(number<std::uint8_t>(10) & 15U);
    if (skip('k')) return constant(number<std::int64_t>(10));
    if (skip('r')) return return_address;
    require('p');
    return probing;
  }

 private:
  const std::string& line_;
  const char *at_, *end_;
};

void read_fact(Words& words, Facts& facts) {
  if (words.skip('[')) {
    const auto place = words.place();
    if (!place) words.fail();
    words.require('=');
    facts.slots.emplace_back(*place, words.value());
    return;
  }
  const auto reg = words.number<std::uint8_t>(10);
  words.require('=');
  facts.registers.at(reg) = words.value();
}

void read_step(Words& words, Function& function) {
  Step step;
  words.done();
  step.pc = words.number<std::uint64_t>(16);
  Facts facts;
  bool is_same = false;
  while (!words.done()) {
    if (words.skip('n')) {
      step.is_endless_call = true;
    } else if (words.skip('t')) {
      Table table;
      table.address = words.number<std::uint64_t>(16);
      words.require(',');
      table.entry_size = words.number<std::uint64_t>(10);
      words.require(',');
      table.count = words.number<std::uint64_t>(10);
      step.table = table;
    } else if (words.skip('>')) {
      step.targets.push_back(words.number<std::uint64_t>(16));
    } else if (words.skip('=')) {
      is_same = true;
    } else {
      read_fact(words, facts);
    }
  }
  if (!is_same) function.facts.push_back(std::move(facts));
  if (function.facts.empty()) words.fail();
  step.facts = function.facts.size() - 1;
  if (!function.steps.empty() && function.steps.back().pc >= step.pc) words.fail();
  function.steps.push_back(std::move(step));
}

std::string signed_text(std::int64_t number) {
  return (number < 0 ? "" : "+") + std::to_string(number);
}

std::string hex_text(std::uint64_t number) {
  std::array<char, 16> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return {digits.data(), result.ptr};
}

std::string text_of(const Facts& facts) {
  std::string text;
  for (std::size_t reg = 0; reg < facts.registers.size(); ++reg)
    if (!facts.registers[reg].is(Value::Kind::Unknown))
      text += " " + std::to_string(reg) + "=" + checker::text_of(facts.registers[reg]);
  for (const auto& [place, value] : facts.slots) text += " [" + checker::text_of(place) + "=" + checker::text_of(value);
  return text;
}

}  // namespace

const Step* Function::find(std::uint64_t pc) const {
  const auto found = std::ranges::lower_bound(steps, pc, {}, &Step::pc);
  return found != steps.end() && found->pc == pc ? &*found : nullptr;
}

std::string text_of(const Place& place) {
  return (place.base == 0 ? "c" : "a" + hex_text(place.base)) + signed_text(place.offset);
}

std::string text_of(const Value& value) {
  switch (value.kind) {
    case Value::Kind::Unknown:
      return "?";
    case Value::Kind::Stack:
      return text_of(value.place);
    case Value::Kind::Entry:
      return "e" + std::to_string(value.reg);
    case Value::Kind::ReturnAddress:
      return "r";
    case Value::Kind::Constant:
      return "k" + std::to_string(value.number);
    case Value::Kind::Probing:
      return "p";
  }
  return {};
}

bool read_function(std::istream& in, std::string& header, Function& function) {
  if (header.empty() && !std::getline(in, header)) return false;
  function = {};
  Words words(header);
  words.require('F');
  words.done();
  function.start = words.number<std::uint64_t>(16);
  words.done();
  function.end = words.number<std::uint64_t>(16);
  for (std::string line;;) {
    if (!std::getline(in, line)) line.clear();
    if (line.empty() || line[0] == 'F') {
      header = line;
      return true;
    }
    Words step(line);
    step.require('S');
    read_step(step, function);
  }
}

std::string text_of(const Function& function) {
  std::string text = "F " + hex_text(function.start) + " " + hex_text(function.end) + "\n";
  std::size_t last = function.facts.size();
  for (const Step& step : function.steps) {
    text += "S " + hex_text(step.pc);
    if (step.is_endless_call) text += " n";
    if (step.table)
      text += " t" + hex_text(step.table->address) + "," + std::to_string(step.table->entry_size) + "," +
              std::to_string(step.table->count);
    for (const std::uint64_t target : step.targets) text += " >" + hex_text(target);
    text += step.facts == last ? " =" : text_of(function.facts[step.facts]);
    text += '\n';
    last = step.facts;
  }
  return text;
}

}  // namespace sframe_gen::checker
