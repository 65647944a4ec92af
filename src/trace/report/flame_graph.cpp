#include "trace/report/flame_graph.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/text.hpp"
#include "trace/report/flame_graph_script.hpp"
#include "trace/report/json_report.hpp"
#include "trace/report/text_report.hpp"
#include "trace/walk/demangle.hpp"

namespace sframe_gen::trace::report {

namespace {

/// The marks of the form itself must not come from names.
std::string without_marks(std::string name) {
  std::ranges::replace(name, ';', ':');
  std::ranges::replace(name, '\n', ' ');
  return name;
}

struct Node {
  std::size_t name = 0, depth = 0;
  std::uint64_t size = 0;  ///< samples, or the sum of their periods
};

/// The stacks as a tree, a caller before its callees.
class Tree {
 public:
  explicit Tree(const FoldedStacks& stacks) : number_of_(stacks.name_count(), unnumbered) {
    constexpr std::string_view root = "all";
    names_.emplace_back(root);
    for (FoldedStacks::Id id = 0; id < stacks.name_count(); ++id)
      if (stacks.name(id) == root) number_of_[id] = 0;
    nodes_.push_back({0, 0, 0});
    open_ = {0};
    for (const FoldedStacks::Counted* counted : stacks.by_names())
      add(stacks, counted->first, stacks.sum().size_of(counted->second));
  }

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  static constexpr std::size_t unnumbered = SIZE_MAX;

  std::size_t number_of(const FoldedStacks& stacks, FoldedStacks::Id id) {
    if (number_of_[id] == unnumbered) {
      number_of_[id] = names_.size();
      names_.push_back(stacks.name(id));
    }
    return number_of_[id];
  }

  void add(const FoldedStacks& stacks, const FoldedStacks::Stack& stack, std::uint64_t size) {
    nodes_[open_[0]].size += size;
    std::size_t depth = 1;
    for (const FoldedStacks::Id id : stack) {
      const std::size_t name = number_of(stacks, id);
      if (depth < open_.size() && nodes_[open_[depth]].name != name) open_.resize(depth);
      if (depth == open_.size()) {
        open_.push_back(nodes_.size());
        nodes_.push_back({name, depth, 0});
      }
      nodes_[open_[depth++]].size += size;
    }
    open_.resize(depth);
  }

  std::vector<Node> nodes_;
  std::vector<std::string> names_;
  std::vector<std::size_t> number_of_;  ///< in names_, by the stacks' number of a name
  std::vector<std::size_t> open_;       ///< nodes of the last stack, from the root
};

/// For XML, in ASCII, as names may be cut and need not be UTF-8.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '<') {
      safe += "&lt;";
    } else if (letter == '>') {
      safe += "&gt;";
    } else if (letter == '&') {
      safe += "&amp;";
    } else {
      safe += letter >= ' ' && letter <= '~' ? letter : '?';
    }
  }
  return safe;
}

constexpr std::size_t row_height = 17, top_space = 64, bottom_space = 10;

std::size_t height_of(std::size_t deepest) {
  return top_space + (deepest + 1) * row_height + bottom_space;
}

/// A name as far as `width` has room for it.
std::string fitting(std::string_view name, double width) {
  constexpr double letter_width = 6.6, margin = 4;
  const auto letters = static_cast<std::size_t>(std::max(width - margin, 0.0) / letter_width);
  constexpr std::size_t fewest = 3;
  if (letters < fewest) return {};
  if (name.size() <= letters) return escaped(name);
  return escaped(name.substr(0, letters - 2)) + "..";
}

/// Rectangles at their places, as the script draws them at first: the widest ones, and with a node its callers, which
/// are as wide at least.
void write_static_picture(std::ostream& out, const Tree& tree, std::size_t deepest, bool has_roots_below) {
  constexpr std::size_t most = 4000;
  constexpr double side = 10, width = 1180, narrowest = 1, gap = 0.3, into = 3, baseline = 12;
  const std::vector<Node>& nodes = tree.nodes();
  const double scale = width / static_cast<double>(std::max<std::uint64_t>(nodes.front().size, 1));
  std::vector<std::uint64_t> sizes;
  sizes.reserve(nodes.size());
  for (const Node& node : nodes) sizes.push_back(node.size);
  std::ranges::sort(sizes, std::greater());
  const std::uint64_t least = sizes.size() > most ? sizes[most] + 1 : 0;
  std::vector<std::uint64_t> next(deepest + 2);  // where the next node of each depth begins
  for (const Node& node : nodes) {
    const std::uint64_t start = next[node.depth];
    next[node.depth] += node.size;
    next[node.depth + 1] = start;
    const double wide = static_cast<double>(node.size) * scale;
    if (wide < narrowest || node.size < least) continue;
    const double x = side + static_cast<double>(start) * scale;
    const std::size_t y = top_space + (has_roots_below ? deepest - node.depth : node.depth) * row_height;
    const std::string& name = tree.names()[node.name];
    const char* const color = name == "[kernel]" || name.ends_with("_[k]") ? "#8bd" : "#f9a25b";
    out << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << wide - gap << "\" height=\"" << row_height - 1
        << "\" fill=\"" << color << "\"/>\n";
    const std::string text = fitting(walk::short_label(name), wide);
    if (!text.empty())
      out << "<text x=\"" << x + into << "\" y=\"" << static_cast<double>(y) + baseline << "\">" << text << "</text>\n";
  }
}

}  // namespace

void FoldedStacks::add_name(std::string_view name, std::string_view mark) {
  constexpr std::size_t longest = 1024;
  std::string text = without_marks(shortened(valid_utf8(name), longest));
  text += mark;
  const auto [found, is_new] = ids_.try_emplace(std::move(text), static_cast<Id>(names_.size()));
  if (is_new) names_.push_back(&found->first);
  stack_.push_back(found->second);
}

/// The function, and after it the calls that were inlined, as the scripts of the first flame graphs mark them:
/// "copy_[i]".
void FoldedStacks::add_frame(const walk::Frame& frame) {
  if (frame.left_out != 0) return add_name(text_of_left_out(frame));
  const NamedFrame named = trace::report::named(frame);
  if (named.function.empty()) {
    add_name("[" + std::string(named.file.empty() ? "unknown" : short_name(named.file)) + "]");
  } else {
    add_name(named.function);
  }
  for (std::size_t i = named.inlined.size(); i-- > 0;) {
    const std::string_view function = named.inlined[i].function;
    add_name(function.empty() ? "[unknown]" : function, "_[i]");
  }
}

void FoldedStacks::add(recorded::KernelNames& kernel, const recorded::Sample& sample) {
  stack_.clear();
  add_name(sample.name);
  if (sample.user.is_deferred) add_name("[deferred]");
  for (std::size_t i = sample.user.frames.size(); i-- > 0;) add_frame(sample.user.frames[i]);
  for (std::size_t i = sample.kernel.size(); i-- > 0;) {
    const std::string_view name = kernel.name_at(sample.kernel[i]);
    if (name.empty()) {
      add_name("[kernel]");
    } else {
      add_name(name, "_[k]");
    }
  }
  counts_[stack_].add(sample.period);
  sum_.add(sample.period);
}

/// In the order of the texts that the names make with this letter between them.
std::vector<const FoldedStacks::Counted*> FoldedStacks::ordered(char between_names) const {
  const auto is_before = [&](const Counted* a, const Counted* b) {
    const auto [in_a, in_b] = std::ranges::mismatch(a->first, b->first);
    if (in_a == a->first.end() || in_b == b->first.end()) return in_b != b->first.end();
    const std::string &one = name(*in_a), &other = name(*in_b);
    const std::size_t common = std::min(one.size(), other.size());
    if (const int order = one.compare(0, common, other, 0, common); order != 0) return order < 0;
    // One goes on where the other ends. No letter of names is 0.
    const auto next = [&](const std::string& text, bool is_last) {
      const char letter = text.size() > common ? text[common] : is_last ? '\0' : between_names;
      return static_cast<unsigned char>(letter);
    };
    return next(one, std::next(in_a) == a->first.end()) < next(other, std::next(in_b) == b->first.end());
  };
  std::vector<const Counted*> all;
  all.reserve(counts_.size());
  for (const Counted& counted : counts_) all.push_back(&counted);
  std::ranges::sort(all, is_before);
  return all;
}

/// With the lowest of all letters between names, what begins with the same functions stands together.
std::vector<const FoldedStacks::Counted*> FoldedStacks::by_names() const {
  return ordered('\1');
}

void FoldedStacks::write(std::ostream& out, bool has_periods) const {
  for (const Counted* counted : ordered(';')) {
    const char* between = "";
    for (const Id id : counted->first) {
      out << between << name(id);
      between = ";";
    }
    out << ' ' << (has_periods ? counted->second.periods : counted->second.samples) << '\n';
  }
}

void write_flame_graph(std::ostream& out, const FoldedStacks& stacks, const FlameGraphStyle& style) {
  const Tree tree(stacks);
  const TotalWeight& sum = stacks.sum();
  const std::string unit = sum.has_same_periods() ? "samples" : style.unit;
  const std::size_t deepest = std::ranges::max(tree.nodes(), {}, &Node::depth).depth;
  const std::string heading =
      escaped(style.title + ": " + count_of(sum.samples(), "sample") +
              (sum.has_same_periods() ? "" : ", " + std::to_string(sum.periods()) + " " + style.unit));
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\""
      << height_of(deepest)
      << "\" font-family=\"monospace\" "
         "font-size=\"11\">\n<title>"
      << heading << "</title>\n<text id=\"title\" x=\"10\" y=\"18\">" << heading
      << "</text>\n<g id=\"without-script\">\n";
  write_static_picture(out, tree, deepest, style.has_roots_below);
  out << "</g>\n"
         "<script><![CDATA[\n\"use strict\";\n(() => {\nconst names = [\n";
  const char* between = "";
  for (const std::string& name : tree.names()) {
    out << between << quoted_for_script(name);
    between = ",\n";
  }
  // Where the label of a name begins, if not with the name.
  out << "\n];\nconst labelBegins = {";
  between = "";
  for (std::size_t i = 0; i < tree.names().size(); ++i) {
    const std::string& name = tree.names()[i];
    const std::size_t begin = walk::begin_of_own_name(name);
    // The script counts in units of UTF-16.
    const auto is_ascii = [](char letter) { return static_cast<unsigned char>(letter) < 0x80; };
    if (begin == 0 || !std::ranges::all_of(name.substr(0, begin), is_ascii)) continue;
    out << between << i << ':' << begin;
    between = ",";
  }
  out << "};\nconst rootsBelow = " << (style.has_roots_below ? "true" : "false")
      << ", unit = " << quoted_for_script(unit) << ";\nconst nodes = [\n";
  between = "";
  for (const Node& node : tree.nodes()) {
    out << between << node.name << ',' << node.depth << ',' << node.size;
    between = ",\n";
  }
  out << "\n];" << flame_graph_script << "})();\n]]></script>\n</svg>\n";
}

}  // namespace sframe_gen::trace::report
