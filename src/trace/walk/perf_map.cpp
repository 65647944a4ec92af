#include "trace/walk/perf_map.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <queue>
#include <string_view>
#include <utility>

#include "support/text.hpp"
#include "trace/files/rights.hpp"
#include "trace/walk/demangle.hpp"

namespace sframe_gen::trace::walk {

namespace {

/// Takes a hexadecimal number, which some write with 0x in front, and the blank after it.
std::optional<std::uint64_t> take_number(std::string_view& line) {
  constexpr int base = 16;
  if (line.starts_with("0x")) line.remove_prefix(2);
  std::uint64_t number = 0;
  const char* const end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data(), end, number, base);
  if (error != std::errc() || stop == end || *stop != ' ') return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(stop - line.data()) + 1);
  return number;
}

}  // namespace

PerfMap::PerfMap(std::vector<char> text) : text_(std::move(text)) {
  read_lines();
  cut_to_pieces();
}

void PerfMap::read_lines() {
  const std::string_view text(text_.data(), text_.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const auto begin = take_number(line);
    const auto size = begin ? take_number(line) : std::nullopt;
    if (!size || *size == 0 || line.empty() || *size > std::numeric_limits<std::uint64_t>::max() - *begin) continue;
    lines_.push_back({*begin, *begin + *size, static_cast<std::uint32_t>(line.data() - text.data()),
                      static_cast<std::uint32_t>(line.size()), static_cast<std::uint32_t>(lines_.size())});
  }
  std::ranges::sort(lines_, {}, [](const Line& line) { return std::pair(line.begin, line.order); });
}

/// Goes from the lowest address upwards, with the lines that begin before it, the latest one first.
void PerfMap::cut_to_pieces() {
  const auto is_earlier = [this](std::uint32_t a, std::uint32_t b) { return lines_[a].order < lines_[b].order; };
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(is_earlier)> begun(is_earlier);
  std::uint64_t at = 0;
  for (std::uint32_t next = 0; next < lines_.size() || !begun.empty();) {
    if (begun.empty()) at = lines_[next].begin;
    for (; next < lines_.size() && lines_[next].begin <= at; ++next) begun.push(next);
    const std::uint32_t latest = begun.top();
    if (lines_[latest].end <= at) {
      begun.pop();
      continue;
    }
    const std::uint64_t end =
        next < lines_.size() ? std::min(lines_[latest].end, lines_[next].begin) : lines_[latest].end;
    if (!pieces_.empty() && pieces_.back().line == latest && pieces_.back().end == at) {
      pieces_.back().end = end;
    } else {
      pieces_.push_back({at, end, latest});
    }
    at = end;
  }
}

FunctionPlace PerfMap::function_at(std::uint64_t address) {
  auto piece = std::ranges::upper_bound(pieces_, address, {}, &Piece::begin);
  if (piece == pieces_.begin() || address >= (--piece)->end) return {};
  const Line& line = lines_[piece->line];
  const auto [name, is_first] = printable_.try_emplace(piece->line);
  if (is_first) {
    const std::string written(text_.data() + line.name, line.name_size);
    name->second = shortened(printable(shortened(written, longest_name)), longest_name);
  }
  return {name->second, {}, address - line.begin};
}

FunctionPlace PerfMaps::OfProcess::function_at(std::uint64_t address) {
  if (open_) {
    const auto opened = std::exchange(open_, nullptr)();
    if (opened && opened->error == 0) map_ = maps_.read(*this, opened->file);
  }
  return map_ ? map_->function_at(address) : FunctionPlace();
}

const std::shared_ptr<PerfMaps::OfProcess>& PerfMaps::of(int process, const std::string& path, const Open& open) {
  std::shared_ptr<OfProcess>& map = maps_[process];
  if (!map) map.reset(new OfProcess(*this, process, path, open));
  return map;
}

std::shared_ptr<PerfMaps::OfProcess> PerfMaps::of(int process, const FileRoot& root) {
  const std::string path = perf_map_path(process);
  return of(process, path, [&root, path] { return root.open_text(path); });
}

/// It is read, not mapped: the program may make it shorter meanwhile.
std::unique_ptr<PerfMap> PerfMaps::read(const OfProcess& map, const Descriptor& file) {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
  const auto refuse = [&](const char* why) {
    refused_.push_back(printable(map.path()) + ": " + why + ", so its names of functions are not used");
    return nullptr;
  };
  if (!may_name_code(status.st_uid, map.process_)) return refuse(not_trusted);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > PerfMap::most_bytes || size > most_bytes - read_bytes_) return refuse("is too large");
  read_bytes_ += size;
  std::vector<char> text(size);
  std::size_t done = 0;
  for (ssize_t count = 1; count > 0 && done < size; done += static_cast<std::size_t>(std::max<ssize_t>(count, 0)))
    count = ::read(file.number(), text.data() + done, size - done);
  text.resize(done);
  return std::make_unique<PerfMap>(std::move(text));
}

std::string perf_map_path(int process) {
  return "/tmp/perf-" + std::to_string(process) + ".map";
}

}  // namespace sframe_gen::trace::walk
