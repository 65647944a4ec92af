// sframe-backtrace: runs a program with libsframe-backtrace before its libraries.

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "backtrace/launcher/program_file.hpp"
#include "cli/launch/compiler.hpp"
#include "command_line/options.hpp"
#include "command_line/program.hpp"
#include "sframe_gen/error.hpp"

namespace {

using namespace sframe_gen;

constexpr char library_name[] = "libsframe-backtrace.so.1";
constexpr char help_text[] =
    "Usage: sframe-backtrace PROGRAM [ARGUMENT...]\n"
    "Run PROGRAM so that backtrace(), _Unwind_Backtrace() and unw_step() walk by .sframe sections.\n"
    "The programs that it starts inherit this.\n"
    "\n"
    "  -h, --help     print this help\n"
    "  -V, --version  print the version\n"
    "\n"
    "SFRAME_BACKTRACE=verbose makes the library report its walks when a program ends.\n"
    "SFRAME_BACKTRACE=0 turns it off. SFRAME_BACKTRACE_CACHE is where sections are that files lack\n"
    "(~/.cache/sframe).\n"
    "\n"
    "  sframe-gen --to-cache ~/.cache/sframe ./program   make sections for the program and its libraries\n"
    "  sframe-backtrace ./program                        run it\n";

/// The library beside this program in the build, or where it is installed; by its name alone if it is in neither place,
/// for the dynamic loader to find.
std::string find_library() {
  const auto directory = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const auto& path : {directory / "src" / library_name, directory / ".." / SFRAME_GEN_LIBDIR / library_name}) {
    if (std::filesystem::exists(path)) return path.lexically_normal().string();
  }
  return library_name;
}

/// Puts the library before what is to be preloaded already.
void set_preload(const std::string& sanitizer_runtime) {
  std::string preload = find_library();
  // The dynamic loader takes both for the end of a name.
  if (preload.find_first_of(" :") != std::string::npos)
    throw Refused(preload, "LD_PRELOAD cannot name a path with a space or a colon");
  if (!sanitizer_runtime.empty()) preload = sanitizer_runtime + ":" + preload;
  const char* const before = std::getenv("LD_PRELOAD");
  if (before != nullptr && *before != '\0') preload += std::string(":") + before;
  if (::setenv("LD_PRELOAD", preload.c_str(), 1) != 0) throw SystemFailure("LD_PRELOAD", "set it", errno);
}

int run(const std::vector<std::string>& arguments) {
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (first == "-h" || first == "--help") return std::cout << help_text, 0;
  if (first == "-V" || first == "--version") return std::cout << "sframe-backtrace " SFRAME_GEN_VERSION "\n", 0;
  if (first.starts_with('-') && first != "--") throw command_line::UsageError("unknown option " + first);
  const std::vector<std::string> command(arguments.begin() + (first == "--" ? 1 : 0), arguments.end());
  if (command.empty()) throw command_line::UsageError("no program given");
  try {
    const auto path = backtrace::find_command(command.front());
    if (path.empty()) throw cli::launch::CannotStart(command.front(), ENOENT);
    const auto program = backtrace::look_at_program(path);
    if (!program.why_not.empty()) throw Refused(command.front(), program.why_not);
    set_preload(program.sanitizer_runtime);
    cli::launch::become(command);
  } catch (const cli::launch::CannotStart& failure) {
    std::cerr << "sframe-backtrace: error: " << failure.what() << '\n';
    return failure.exit_status();
  }
}

}  // namespace

int main(int count, char** arguments) {
  return command_line::run_program("sframe-backtrace",
                                   [&] { return run(std::vector<std::string>(arguments + 1, arguments + count)); });
}
