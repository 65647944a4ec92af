#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "support/mapped_file.hpp"

struct debuginfod_client;

namespace sframe_gen::trace::walk {

/// Programs and debug files that are not on this system, from the servers of DEBUGINFOD_URLS, by build-id. Elfutils'
/// libdebuginfod, which is loaded when one is made that fetches, keeps them in its cache. One such object at a time.
class Debuginfod {
 public:
  enum class What : std::uint8_t { Executable, DebugFile };
  /// Shows "downloading the debug file of libc.so.6: 3 of 12 MB"; an empty line: it is over.
  using Show = std::function<void(const std::string&)>;

  /// Counts what could be had, and fetches nothing.
  Debuginfod() = default;
  /// Throws Refused without the library (libdebuginfod.so.1) or without servers.
  explicit Debuginfod(Show show);
  ~Debuginfod();
  Debuginfod(const Debuginfod&) = delete;
  Debuginfod& operator=(const Debuginfod&) = delete;

  /// `build_id`: digits. `name`: of the file that has it. Not open: no server has it, or the download was ended: by
  /// SIGINT, since the file is larger than 4 GB, or since all downloads together took 30 minutes. What a server sends
  /// may be any file.
  Descriptor find(What what, const std::string& build_id, const std::string& name);

  bool fetches() const { return client_ != nullptr; }

  /// Files that were asked for of an object that fetches nothing.
  std::size_t missing() const { return missing_.size(); }
  /// Downloads that SIGINT ended.
  std::size_t interrupted() const { return interrupted_; }
  /// Downloads that were too large or took too long.
  std::size_t over_limit() const { return over_limit_; }

  static bool has_servers();

  /// Where the library keeps what it has fetched.
  static std::filesystem::path cache();

 private:
  // Of elfutils/debuginfod.h, which is not needed to build.
  using End = void(debuginfod_client*);
  using Find = int(debuginfod_client*, const unsigned char*, int, char**);

  /// Shows the progress. Not 0: the download is to end.
  static int go_on(debuginfod_client* client, long done, long all);
  template <typename Function>
  Function* function(const char* name) const;

  Show show_;
  void* library_ = nullptr;
  Find *find_executable_ = nullptr, *find_debug_file_ = nullptr;
  End* end_ = nullptr;
  debuginfod_client* client_ = nullptr;             ///< null: nothing is fetched
  std::string under_way_;                           ///< "the debug file of libc.so.6"
  std::chrono::steady_clock::time_point began_;     ///< of the download under way
  std::chrono::steady_clock::duration spent_ = {};  ///< on those before it
  bool is_over_limit_ = false;                      ///< the download under way
  std::size_t interrupted_ = 0, over_limit_ = 0;
  std::set<std::string> missing_;
};

}  // namespace sframe_gen::trace::walk
