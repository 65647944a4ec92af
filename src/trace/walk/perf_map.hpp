#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/hash.hpp"
#include "support/mapped_file.hpp"
#include "trace/files/file_root.hpp"
#include "trace/walk/code_file.hpp"

namespace sframe_gen::trace::walk {

/// Names of code that a program made itself, as its just-in-time compiler wrote them to /tmp/perf-PID.map: lines such
/// as "7f3c5a0d1c5a 2f Interpreter:main". Code may be written over other code: of two lines for an address, the later
/// one holds. Lines that are none are passed over, as perf does.
class PerfMap {
 public:
  /// A damaged or hostile one costs no more than this: those of Java have a few megabytes.
  static constexpr std::size_t most_bytes = std::size_t{64} << 20U;

  explicit PerfMap(std::vector<char> text);
  PerfMap(const PerfMap&) = delete;
  PerfMap& operator=(const PerfMap&) = delete;

  /// The name stays valid. Empty: there is none.
  FunctionPlace function_at(std::uint64_t address);

 private:
  struct Line {
    std::uint64_t begin, end;
    std::uint32_t name, name_size;  ///< where it stands in text_
    std::uint32_t order;
  };
  /// A part of a line's code that no later line has.
  struct Piece {
    std::uint64_t begin, end;
    std::uint32_t line;
  };

  void read_lines();
  void cut_to_pieces();

  std::vector<char> text_;
  std::vector<Line> lines_;                         ///< by begin
  std::vector<Piece> pieces_;                       ///< ascending
  std::map<std::uint32_t, std::string> printable_;  ///< names that were asked for, by line
};

/// The maps of several processes, each read when the first name is asked for. Must outlive what it hands out.
class PerfMaps {
 public:
  /// Together they cost no more than this.
  static constexpr std::size_t most_bytes = std::size_t{256} << 20U;
  /// Null, or not open: there is no such file.
  using Open = std::function<std::shared_ptr<const OpenFile>()>;

  /// The map of one process.
  class OfProcess {
   public:
    const std::string& path() const { return path_; }
    FunctionPlace function_at(std::uint64_t address);

   private:
    friend PerfMaps;
    OfProcess(PerfMaps& maps, int process, std::string path, Open open)
        : maps_(maps), process_(process), path_(std::move(path)), open_(std::move(open)) {}

    PerfMaps& maps_;
    int process_;
    std::string path_;
    Open open_;  ///< null: it was read
    std::unique_ptr<PerfMap> map_;
  };

  PerfMaps() = default;
  PerfMaps(const PerfMaps&) = delete;
  PerfMaps& operator=(const PerfMaps&) = delete;

  /// The map that the process wrote to `root`, which must live on.
  std::shared_ptr<OfProcess> of(int process, const FileRoot& root);
  /// Always the same one for a process.
  const std::shared_ptr<OfProcess>& of(int process, const std::string& path, const Open& open);

  /// "/tmp/perf-4711.map: is not of root or the user": those that are there, but are not used.
  const std::vector<std::string>& refused() const { return refused_; }

 private:
  std::unique_ptr<PerfMap> read(const OfProcess& map, const Descriptor& file);

  SeededMap<int, std::shared_ptr<OfProcess>> maps_;
  std::size_t read_bytes_ = 0;
  std::vector<std::string> refused_;
};

/// "/tmp/perf-4711.map"
std::string perf_map_path(int process);

}  // namespace sframe_gen::trace::walk
