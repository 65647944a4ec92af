#include "trace/report/top_functions.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <tuple>

#include "support/text.hpp"
#include "trace/report/text_report.hpp"

namespace sframe_gen::trace {

void TopFunctions::count(std::string_view name, std::string_view file, bool is_innermost) {
  key_.assign(file).append("\n").append(name);
  const auto [found, is_new] = index_of_.try_emplace(key_, functions_.size());
  if (is_new) functions_.push_back({std::string(name), std::string(file)});
  Function& function = functions_[found->second];
  if (function.last != samples_) ++function.total;
  if (is_innermost) ++function.self;
  function.last = samples_;
}

void TopFunctions::add(KernelNames& kernel, const Sample& sample) {
  ++samples_;
  bool is_innermost = true;
  const auto count_next = [&](std::string_view name, std::string_view file) {
    count(name.empty() ? "[unknown]" : name, file.empty() ? "[unknown]" : file, is_innermost);
    is_innermost = false;
  };
  for (const std::uint64_t pc : sample.kernel) count_next(kernel.name_at(pc), "[kernel]");
  for (const Frame& frame : sample.user.frames) {
    const NamedFrame named = trace::named(frame);
    for (const InlinedCall& call : named.inlined) count_next(call.function, short_name(named.file));
    count_next(named.function, short_name(named.file));
  }
}

namespace {

/// "  12.34%"
std::string percent(std::uint64_t part, std::uint64_t whole) {
  constexpr double all = 100;
  constexpr int width = 7;
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << std::setw(width)
       << all * static_cast<double>(part) / static_cast<double>(whole) << '%';
  return text.str();
}

/// Names of templates can have kilobytes: files stand in one column if names are shorter.
constexpr std::size_t longest_in_column = 60;

}  // namespace

void TopFunctions::write(std::ostream& out, std::size_t most) const {
  std::vector<const Function*> order;
  order.reserve(functions_.size());
  for (const Function& function : functions_) order.push_back(&function);
  std::ranges::sort(order, [](const Function* a, const Function* b) {
    return std::tie(b->total, b->self, a->name, a->file) < std::tie(a->total, a->self, b->name, b->file);
  });
  const std::size_t more = order.size() - std::min(order.size(), most);
  order.resize(order.size() - more);
  std::size_t widest = std::string_view("Function").size();
  for (const Function* function : order) widest = std::max(widest, std::min(function->name.size(), longest_in_column));
  constexpr int digits = 9;
  const auto column = static_cast<int>(widest);
  out << "# " << count_of(samples_, "sample") << "\n#  Total     Self   Samples  " << std::left << std::setw(column)
      << "Function"
      << "  File\n";
  for (const Function* function : order)
    out << percent(function->total, samples_) << ' ' << percent(function->self, samples_) << ' ' << std::right
        << std::setw(digits) << function->total << "  " << std::left << std::setw(column) << function->name << "  "
        << function->file << '\n';
  out << std::right;
  if (more != 0) out << "# " << count_of(more, "more function") << " (--limit)\n";
}

}  // namespace sframe_gen::trace
