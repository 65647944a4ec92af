#include "trace/perf/recording_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "sframe_gen/error.hpp"

namespace sframe_gen::trace {

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// Ctrl-C at a terminal is for who writes into the pipe; what came until then is to be shown.
class Uninterrupted {
 public:
  Uninterrupted() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGINT, &ignore, &before_);
  }
  ~Uninterrupted() { ::sigaction(SIGINT, &before_, nullptr); }
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

 private:
  struct sigaction before_ {};
};

/// Samples come out by time, and those of one processor stand behind another's: all of it is needed. A file that has no
/// name takes less memory than the bytes would.
MappedFile kept(int from, const std::string& name) {
  const Uninterrupted reading;
  const File file(std::tmpfile(), std::fclose);
  if (!file) throw SystemFailure("a temporary file", "make", errno);
  std::vector<std::byte> bytes(std::size_t{1} << 20U);
  for (;;) {
    const ssize_t count = ::read(from, bytes.data(), bytes.size());
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw SystemFailure(name, "read", errno);
    const auto size = static_cast<std::size_t>(count);
    if (std::fwrite(bytes.data(), 1, size, file.get()) != size) throw SystemFailure("a temporary file", "write", errno);
  }
  if (std::fflush(file.get()) != 0) throw SystemFailure("a temporary file", "write", errno);
  return {::fileno(file.get()), name};
}

bool is_pipe(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

}  // namespace

MappedFile open_recording(const std::filesystem::path& path) {
  if (path == "-") {
    const std::string name = "standard input";
    return is_pipe(STDIN_FILENO) ? kept(STDIN_FILENO, name) : MappedFile(STDIN_FILENO, name);
  }
  if (!std::filesystem::is_fifo(path)) return MappedFile(path);
  const File pipe(std::fopen(path.c_str(), "re"), std::fclose);
  if (!pipe) throw SystemFailure(path.string(), "open", errno);
  return kept(::fileno(pipe.get()), path.string());
}

}  // namespace sframe_gen::trace
