#include "trace/report/flame_graph.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/text.hpp"
#include "trace/report/flame_graph_script.hpp"
#include "trace/report/json_report.hpp"
#include "trace/report/text_report.hpp"

namespace sframe_gen::trace {

namespace {

/// The marks of the form itself must not come from names.
std::string without_marks(std::string name) {
  std::ranges::replace(name, ';', ':');
  std::ranges::replace(name, '\n', ' ');
  return name;
}

/// ";main", and after it the calls that were inlined, as the scripts of the first flame graphs mark them: ";copy_[i]".
void append_frame(std::string& text, const Frame& frame) {
  const NamedFrame named = trace::named(frame);
  text += ';';
  if (named.function.empty()) {
    text += "[" + without_marks(std::string(named.file.empty() ? "unknown" : short_name(named.file))) + "]";
  } else {
    text += without_marks(std::string(named.function));
  }
  for (std::size_t i = named.inlined.size(); i-- > 0;) {
    const std::string_view function = named.inlined[i].function;
    text += ";" + without_marks(std::string(function.empty() ? "[unknown]" : function)) + "_[i]";
  }
}

struct Node {
  std::size_t name = 0, depth = 0;
  std::uint64_t samples = 0;
};

/// The stacks as a tree, a caller before its callees.
class Tree {
 public:
  explicit Tree(const FoldedStacks& stacks) {
    open_ = {begin("all", 0)};
    // With the lowest of all letters between names, what begins with the same functions stands together.
    std::map<std::string, std::uint64_t> ordered;
    for (const auto& [text, count] : stacks.counts()) {
      std::string key = text;
      std::ranges::replace(key, ';', between_names);
      ordered[std::move(key)] += count;
    }
    for (const auto& [text, count] : ordered) add(text, count);
  }

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  static constexpr char between_names = '\1';

  std::size_t begin(std::string_view name, std::size_t depth) {
    const auto [found, is_new] = index_of_.try_emplace(std::string(name), names_.size());
    if (is_new) names_.emplace_back(name);
    nodes_.push_back({found->second, depth, 0});
    return nodes_.size() - 1;
  }

  void add(std::string_view text, std::uint64_t count) {
    nodes_[open_[0]].samples += count;
    std::size_t depth = 1;
    for (std::size_t at = 0; at <= text.size(); ++depth) {
      const std::size_t stop = std::min(text.find(between_names, at), text.size());
      const std::string_view name = text.substr(at, stop - at);
      at = stop + 1;
      if (depth < open_.size() && names_[nodes_[open_[depth]].name] != name) open_.resize(depth);
      if (depth == open_.size()) open_.push_back(begin(name, depth));
      nodes_[open_[depth]].samples += count;
    }
    open_.resize(depth);
  }

  std::vector<Node> nodes_;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t> index_of_;
  std::vector<std::size_t> open_;  ///< nodes of the last stack, from the root
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

constexpr std::size_t row_height = 17, top_space = 40, bottom_space = 30;

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
void write_static_picture(std::ostream& out, const Tree& tree, std::size_t deepest) {
  constexpr std::size_t most = 4000;
  constexpr double side = 10, width = 1180, narrowest = 1, gap = 0.3, into = 3, baseline = 12;
  const std::vector<Node>& nodes = tree.nodes();
  const double scale = width / static_cast<double>(std::max<std::uint64_t>(nodes.front().samples, 1));
  std::vector<std::uint64_t> sizes;
  sizes.reserve(nodes.size());
  for (const Node& node : nodes) sizes.push_back(node.samples);
  std::ranges::sort(sizes, std::greater());
  const std::uint64_t least = sizes.size() > most ? sizes[most] + 1 : 0;
  std::vector<std::uint64_t> next(deepest + 2);  // where the next node of each depth begins
  for (const Node& node : nodes) {
    const std::uint64_t start = next[node.depth];
    next[node.depth] += node.samples;
    next[node.depth + 1] = start;
    const double wide = static_cast<double>(node.samples) * scale;
    if (wide < narrowest || node.samples < least) continue;
    const double x = side + static_cast<double>(start) * scale;
    const std::size_t y = top_space + (deepest - node.depth) * row_height;
    const std::string& name = tree.names()[node.name];
    const char* const color = name == "[kernel]" || name.ends_with("_[k]") ? "#8bd" : "#f9a25b";
    out << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << wide - gap << "\" height=\"" << row_height - 1
        << "\" fill=\"" << color << "\"/>\n";
    const std::string text = fitting(name, wide);
    if (!text.empty())
      out << "<text x=\"" << x + into << "\" y=\"" << static_cast<double>(y) + baseline << "\">" << text << "</text>\n";
  }
}

}  // namespace

void FoldedStacks::add(KernelNames& kernel, const Sample& sample) {
  std::string text = without_marks(sample.name);
  if (sample.user.is_deferred) text += ";[deferred]";
  for (std::size_t i = sample.user.frames.size(); i-- > 0;) append_frame(text, sample.user.frames[i]);
  for (std::size_t i = sample.kernel.size(); i-- > 0;) {
    const std::string name = without_marks(std::string(kernel.name_at(sample.kernel[i])));
    text += name.empty() ? ";[kernel]" : ";" + name + "_[k]";
  }
  ++counts_[text];
}

void FoldedStacks::write(std::ostream& out) const {
  for (const auto& [text, count] : counts_) out << text << ' ' << count << '\n';
}

void write_flame_graph(std::ostream& out, const FoldedStacks& stacks, const std::string& title) {
  const Tree tree(stacks);
  const std::size_t deepest = std::ranges::max(tree.nodes(), {}, &Node::depth).depth;
  const std::string heading = escaped(title + ": " + count_of(tree.nodes().front().samples, "sample"));
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\""
      << height_of(deepest)
      << "\" font-family=\"monospace\" "
         "font-size=\"11\">\n<title>"
      << heading << "</title>\n<text id=\"title\" x=\"420\" y=\"20\">" << heading
      << "</text>\n<g id=\"without-script\">\n";
  write_static_picture(out, tree, deepest);
  out << "</g>\n"
         "<script><![CDATA[\n\"use strict\";\n(() => {\nconst names = [\n";
  const char* between = "";
  for (const std::string& name : tree.names()) {
    out << between << quoted_for_script(name);
    between = ",\n";
  }
  out << "\n];\nconst nodes = [\n";
  between = "";
  for (const Node& node : tree.nodes()) {
    out << between << node.name << ',' << node.depth << ',' << node.samples;
    between = ",\n";
  }
  out << "\n];" << flame_graph_script << "})();\n]]></script>\n</svg>\n";
}

}  // namespace sframe_gen::trace
