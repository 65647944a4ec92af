#include "trace/recorded/sample_choice.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace sframe_gen::trace::recorded {

namespace {

template <typename Value, typename Asked>
bool is_one_of(const std::vector<Value>& values, const Asked& asked) {
  return values.empty() || std::ranges::find(values, asked) != values.end();
}

std::optional<std::uint64_t> read_digits(std::string_view digits) {
  std::uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

/// "12.5" in ns.
std::optional<std::uint64_t> read_seconds(std::string_view text) {
  constexpr std::uint64_t ns_in_s = 1'000'000'000;
  constexpr std::size_t most_digits = 9;
  const std::size_t point = text.find('.');
  const auto seconds = read_digits(text.substr(0, point));
  if (!seconds || *seconds >= std::numeric_limits<std::uint64_t>::max() / ns_in_s) return std::nullopt;
  if (point == std::string_view::npos) return *seconds * ns_in_s;
  std::string fraction(text.substr(point + 1));
  if (fraction.empty() || fraction.size() > most_digits) return std::nullopt;
  fraction.resize(most_digits, '0');
  const auto ns = read_digits(fraction);
  return ns ? std::optional(*seconds * ns_in_s + *ns) : std::nullopt;
}

}  // namespace

bool SampleChoice::has(int process, int thread, std::string_view name, std::uint64_t time) const {
  return time >= begin && time <= end && is_one_of(processes, process) && is_one_of(threads, thread) &&
         is_one_of(names, name);
}

bool SampleChoice::has_event(std::size_t number) const {
  return is_one_of(events, number);
}

bool SampleChoice::has_all() const {
  return events.empty() && processes.empty() && threads.empty() && names.empty() && begin == 0 &&
         end == std::numeric_limits<std::uint64_t>::max();
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> read_time_range(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos || text.size() == 1) return std::nullopt;
  const std::string_view first = text.substr(0, comma), last = text.substr(comma + 1);
  const auto begin = first.empty() ? std::optional(std::uint64_t{0}) : read_seconds(first);
  const auto end = last.empty() ? std::optional(std::numeric_limits<std::uint64_t>::max()) : read_seconds(last);
  if (!begin || !end || *begin > *end) return std::nullopt;
  // Texts have microseconds, which are cut off: a time that was printed is that of its sample.
  constexpr std::size_t printed_digits = 6;
  constexpr std::uint64_t last_ns_of_us = 999;
  const std::size_t point = last.find('.');
  const std::size_t digits = point == std::string_view::npos ? 0 : last.size() - point - 1;
  if (!last.empty() && digits <= printed_digits) return std::pair(*begin, *end + last_ns_of_us);
  return std::pair(*begin, *end);
}

}  // namespace sframe_gen::trace::recorded
