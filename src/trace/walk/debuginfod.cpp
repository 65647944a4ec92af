#include "trace/walk/debuginfod.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "sframe_gen/error.hpp"
#include "support/text.hpp"
#include "trace/files/rights.hpp"

namespace sframe_gen::trace::walk {

namespace {

// Of elfutils/debuginfod.h, which is not needed to build.
using BeginClient = debuginfod_client*();
using GoOn = int(debuginfod_client*, long, long);
using SetGoOn = void(debuginfod_client*, GoOn*);

constexpr std::chrono::minutes longest_time(30);
constexpr long long largest_download = 4'000'000'000;

/// The library's callback gets no context from versions before 0.180.
Debuginfod* the_one = nullptr;
std::atomic<bool> got_interrupt = false;

/// SIGINT ends the download for its time, unless it is ignored.
class Interruptible {
 public:
  Interruptible() {
    got_interrupt = false;
    struct sigaction interrupt {};
    interrupt.sa_handler = [](int) { got_interrupt = true; };
    ::sigaction(SIGINT, &interrupt, &before_);
    if (before_.sa_handler == SIG_IGN) ::sigaction(SIGINT, &before_, nullptr);
  }
  ~Interruptible() { ::sigaction(SIGINT, &before_, nullptr); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  struct sigaction before_ {};
};

std::string variable_of_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Version 0.188 takes a download that was ended for a file that no server has, and does not ask for ten minutes.
void forget_miss(const std::filesystem::path& kept) {
  std::error_code ignored;
  if (std::filesystem::file_size(kept, ignored) == 0) std::filesystem::remove(kept, ignored);
}

Refused cannot_fetch(const std::string& why) {
  return {"--debuginfod", why};
}

/// HOME may be another user's, who then says what files are.
void check_owner(std::filesystem::path folder) {
  struct stat status {};
  while (::stat(folder.c_str(), &status) != 0 && folder.has_relative_path()) folder = folder.parent_path();
  if (!is_trusted(status.st_uid))
    throw cannot_fetch(printable(folder.string()) + " " + not_trusted + " (set DEBUGINFOD_CACHE_PATH)");
}

}  // namespace

template <typename Function>
Function* Debuginfod::function(const char* name) const {
  auto* const found = reinterpret_cast<Function*>(::dlsym(library_, name));
  if (found == nullptr) throw cannot_fetch(std::string("libdebuginfod.so.1 has no ") + name);
  return found;
}

Debuginfod::Debuginfod(Show show) : show_(std::move(show)) {
  if (!has_servers()) throw cannot_fetch("no servers (set DEBUGINFOD_URLS to their addresses)");
  check_owner(cache());
  library_ = ::dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr)
    throw cannot_fetch(
        "requires libdebuginfod, but libdebuginfod.so.1 cannot be loaded (install libdebuginfod1 on "
        "Debian, elfutils-debuginfod-client on Fedora)");
  find_executable_ = function<Find>("debuginfod_find_executable");
  find_debug_file_ = function<Find>("debuginfod_find_debuginfo");
  end_ = function<End>("debuginfod_end");
  auto* const set_progress = function<SetGoOn>("debuginfod_set_progressfn");
  client_ = function<BeginClient>("debuginfod_begin")();
  if (client_ == nullptr) throw cannot_fetch("libdebuginfod cannot begin");
  set_progress(client_, go_on);
}

/// The library stays loaded: those that it brought along need not be fit to be unloaded.
Debuginfod::~Debuginfod() {
  if (client_ != nullptr) end_(client_);
}

/// Called once a second at least. Until a server has answered, `done` counts the calls and `all` is 0.
int Debuginfod::go_on(debuginfod_client* /*client*/, long done, long all) {
  constexpr long mb = 1'000'000;
  Debuginfod& self = *the_one;
  std::string line = "downloading " + self.under_way_;
  if (all > 0) line += ": " + std::to_string(done / mb) + " of " + std::to_string(all / mb + 1) + " MB";
  if (self.show_) self.show_(line + " (Ctrl-C goes on without it)");
  self.is_over_limit_ = all > largest_download || done > largest_download ||
                        self.spent_ + (std::chrono::steady_clock::now() - self.began_) > longest_time;
  return got_interrupt || self.is_over_limit_ ? 1 : 0;
}

Descriptor Debuginfod::find(What what, const std::string& build_id, const std::string& name) {
  if (build_id.empty()) return Descriptor();
  if (client_ == nullptr) {
    missing_.insert(build_id);
    return Descriptor();
  }
  the_one = this;
  under_way_ = (what == What::Executable ? "" : "the debug file of ") + name;
  began_ = std::chrono::steady_clock::now();
  is_over_limit_ = false;
  const Interruptible interruptible;
  Find* const ask = what == What::Executable ? find_executable_ : find_debug_file_;
  // Digits are taken as such if no length is given.
  Descriptor file(ask(client_, reinterpret_cast<const unsigned char*>(build_id.c_str()), 0, nullptr));
  spent_ += std::chrono::steady_clock::now() - began_;
  if (show_) show_("");
  if (file.is_open() || !(is_over_limit_ || got_interrupt)) return file;
  ++(is_over_limit_ ? over_limit_ : interrupted_);
  forget_miss(cache() / build_id / (what == What::Executable ? "executable" : "debuginfo"));
  return file;
}

bool Debuginfod::has_servers() {
  return !variable_of_environment("DEBUGINFOD_URLS").empty();
}

/// As the library finds it, which has no function that tells.
std::filesystem::path Debuginfod::cache() {
  if (const std::string given = variable_of_environment("DEBUGINFOD_CACHE_PATH"); !given.empty()) return given;
  const std::string user = variable_of_environment("HOME");
  const std::filesystem::path home = user.empty() ? "/" : user;
  std::error_code ignored;
  if (std::filesystem::exists(home / ".debuginfod_client_cache", ignored)) return home / ".debuginfod_client_cache";
  const std::string cache = variable_of_environment("XDG_CACHE_HOME");
  return (cache.empty() ? home / ".cache" : std::filesystem::path(cache)) / "debuginfod_client";
}

}  // namespace sframe_gen::trace::walk
