#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "cli/launch/compiler.hpp"
#include "cli/report/text.hpp"
#include "cli/run.hpp"
#include "convert/file_kind.hpp"
#include "elf/image.hpp"
#include "sframe_gen/convert.hpp"
#include "support/mapped_file.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

void message(const char* severity, const std::string& text) {
  std::cerr << "sframe-gen: " << severity << ": " << printable(text) << '\n';
}

/// The file as it is now; none if there is none, or it is no regular file (/dev/null).
std::optional<struct stat> regular_file(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return status;
}

/// Objects of data alone need no rows. Intermediate code (gcc's) may become machine code.
bool has_code(const elf::Image& image) {
  return std::ranges::any_of(image.sections(), [](const elf::Section& section) {
    const bool machine_code = (section.header.sh_flags & SHF_EXECINSTR) != 0 && section.header.sh_size != 0;
    return machine_code || section.name.starts_with(".gnu.lto_");
  });
}

/// A file that a command line names as its object.
class Object {
 public:
  explicit Object(std::filesystem::path path) : path_(std::move(path)), before_(regular_file(path_)) {}

  /// What the command left alone was not made by it: -v and --help with -c compile nothing.
  bool was_made() const {
    const auto now = regular_file(path_);
    return now && (!before_ || FileIdentity(*now) != FileIdentity(*before_));
  }

  /// Throws Failure.
  void convert(const Options& options) const {
    const auto compiled = regular_file(path_);
    if (convert::kind_of(path_) != convert::FileKind::Elf)
      throw Refused(path_.string(), "not an ELF file (intermediate code of the compiler?)");
    if (!has_code(elf::Image::open(path_))) return;
    WorkObserver observer;
    observer.warn = [&](const std::string& text) {
      if (!options.quiet) message("warning", text);
    };
    const ConvertOutcome outcome = convert_file(path_, path_, options.convert, observer);
    if (options.verbose) {
      // Standard output is the compiler's.
      write_summary(path_.string(), outcome, Done::Really, std::cerr);
      write_details(path_.string(), outcome, std::cerr);
    }
    if (compiled) keep_time(*compiled);
  }

  void remove() const {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  /// Keeps the compiler's mtime, so that make still sees later edits.
  void keep_time(const struct stat& compiled) const {
    const timespec times[] = {compiled.st_atim, compiled.st_mtim};
    ::utimensat(AT_FDCWD, path_.c_str(), times, 0);
  }

  std::filesystem::path path_;
  std::optional<struct stat> before_;
};

bool convert(const Object& object, const Options& options) try {
  object.convert(options);
  return true;
} catch (const Refused& refused) {
  if (!options.quiet) message("note", std::string(refused.what()) + "; left as the compiler wrote it");
  return true;
} catch (const std::exception& failure) {
  const bool named = dynamic_cast<const Failure*>(&failure) != nullptr;
  message("error", named ? failure.what() : object.path().string() + ": " + failure.what());
  object.remove();
  return false;
}

}  // namespace

int launch_command(const Options& options, void (*prepare_to_write)()) try {
  std::vector<Object> objects;
  for (auto& path : cli::launch::objects_made_by(options.command)) objects.emplace_back(std::move(path));
  if (objects.empty()) cli::launch::become(options.command);
  int status = cli::launch::run(options.command);
  if (status != 0) return status;
  prepare_to_write();
  for (const Object& object : objects) {
    if (object.was_made() && !convert(object, options)) status = 1;
  }
  return status;
} catch (const cli::launch::CannotStart& failure) {
  message("error", failure.what());
  return failure.exit_status();
}

}  // namespace sframe_gen::cli
