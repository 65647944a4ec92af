#include "trace/report/top_functions.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <tuple>
#include <utility>

#include "support/text.hpp"
#include "trace/report/text_report.hpp"

namespace sframe_gen::trace::report {

void TopFunctions::count(std::string_view name, std::string_view file, std::uint64_t period, bool is_inlined,
                         bool is_innermost) {
  key_.assign(file).append("\n").append(name);
  const auto [found, is_new] = index_of_.try_emplace(key_, functions_.size());
  if (is_new) functions_.push_back({std::string(name), std::string(file)});
  Function& function = functions_[found->second];
  (is_inlined ? function.is_inlined : function.is_called) = true;
  if (is_innermost) function.self += period;
  if (std::exchange(function.last, sum_.samples()) == sum_.samples()) return;
  ++function.samples;
  function.total += period;
}

void TopFunctions::add(recorded::KernelNames& kernel, const recorded::Sample& sample) {
  sum_.add(sample.period);
  bool is_innermost = true;
  const auto count_next = [&](std::string_view name, std::string_view file, bool is_inlined) {
    count(name.empty() ? "[unknown]" : name, file.empty() ? "[unknown]" : file, sample.period, is_inlined,
          is_innermost);
    is_innermost = false;
  };
  for (const std::uint64_t pc : sample.kernel) count_next(kernel.name_at(pc), "[kernel]", false);
  for (const walk::Frame& frame : sample.user.frames) {
    if (frame.left_out != 0) continue;
    const NamedFrame named = trace::report::named(frame);
    for (const walk::InlinedCall& call : named.inlined) count_next(call.function, short_name(named.file), true);
    count_next(named.function, short_name(named.file), false);
  }
}

namespace {

/// "  12.34%"
std::string percent(std::uint64_t part, std::uint64_t whole) {
  constexpr double all = 100;
  constexpr int width = 7;
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << std::setw(width)
       << all * static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(whole, 1)) << '%';
  return text.str();
}

/// Names of templates can have kilobytes: files stand in one column if names are shorter.
constexpr std::size_t longest_in_column = 60;
/// Of a line: both shares, the samples, and the spaces between all columns.
constexpr std::size_t columns_of_numbers = 8 + 1 + 8 + 1 + 9 + 2 + 2;

/// A name as far as there is room for it, in whole letters of UTF-8.
std::string cut(const std::string& name, std::size_t most) {
  constexpr std::size_t fewest = 20, dots = 2;
  std::size_t end = std::max(most, fewest);
  if (name.size() <= end) return name;
  constexpr unsigned first_bits = 0xc0, goes_on = 0x80;
  for (end -= dots; end > 0 && (static_cast<unsigned char>(name[end]) & first_bits) == goes_on;) --end;
  return name.substr(0, end) + "..";
}

}  // namespace

void TopFunctions::write_head(std::ostream& out, const recorded::SampledEvent& event, std::size_t column) const {
  out << "# " << count_of(sum_.samples(), "sample") << " of " << event.name;
  if (!sum_.has_same_periods()) out << ", " << sum_.periods() << ' ' << event.unit() << " in all, of which shares are";
  out << "\n#  Total     Self   Samples  " << std::left << std::setw(static_cast<int>(column)) << "Function"
      << "  File\n";
}

void TopFunctions::write(std::ostream& out, const recorded::SampledEvent& event, const TopStyle& style) const {
  std::vector<const Function*> order;
  order.reserve(functions_.size());
  for (const Function& function : functions_) order.push_back(&function);
  const auto shares = [&](const Function& function) {
    return style.order == TopOrder::Total ? std::tie(function.total, function.self)
                                          : std::tie(function.self, function.total);
  };
  std::ranges::sort(order, [&](const Function* a, const Function* b) {
    return std::tuple(shares(*b), std::tie(a->name, a->file)) < std::tuple(shares(*a), std::tie(b->name, b->file));
  });
  const std::size_t more = order.size() - std::min(order.size(), style.most);
  order.resize(order.size() - more);
  std::vector<std::string> names;
  std::size_t widest = std::string_view("Function").size(), widest_file = 0;
  for (const Function* function : order) widest_file = std::max(widest_file, function->file.size());
  const std::size_t others = columns_of_numbers + std::min(widest_file, style.columns / 4);
  for (const Function* function : order) {
    const char* const mark = !function->is_inlined ? "" : function->is_called ? " (partly inlined)" : " (inlined)";
    std::string name = function->name;
    if (style.columns != 0) {
      const std::size_t with_mark = others + std::string_view(mark).size();
      name = cut(name, style.columns - std::min(style.columns, with_mark));
    }
    names.push_back(name + mark);
    widest = std::max(widest, std::min(names.back().size(), style.columns != 0 ? style.columns : longest_in_column));
  }
  write_head(out, event, widest);
  constexpr int digits = 9;
  for (std::size_t i = 0; i < order.size(); ++i)
    out << percent(order[i]->total, sum_.periods()) << ' ' << percent(order[i]->self, sum_.periods()) << ' '
        << std::right << std::setw(digits) << order[i]->samples << "  " << std::left
        << std::setw(static_cast<int>(widest)) << names[i] << "  " << order[i]->file << '\n';
  out << std::right;
  if (more != 0) out << "# " << count_of(more, "more function") << " (--limit)\n";
}

}  // namespace sframe_gen::trace::report
