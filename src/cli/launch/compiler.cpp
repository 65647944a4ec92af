#include "cli/launch/compiler.hpp"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

namespace sframe_gen::cli::launch {

namespace {

/// libiberty's bound on the files of one command line: they may name each other in a circle.
constexpr int most_files = 2000;

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char next = text[at];
    if (next == '\\' && at + 1 < text.size()) {
      word = word.value_or("") + text[++at];
    } else if (quote != 0 && next == quote) {
      quote = 0;
    } else if (quote != 0) {
      *word += next;
    } else if (next == '"' || next == '\'') {
      quote = next;
      word = word.value_or("");
    } else if (std::string_view(" \t\n\v\f\r").find(next) == std::string_view::npos) {
      word = word.value_or("") + next;
    } else if (word) {
      words.push_back(std::move(*word));
      word.reset();
    }
  }
  if (word) words.push_back(std::move(*word));
  return words;
}

void append_expanded(const std::vector<std::string>& arguments, int& files, std::vector<std::string>& all) {
  for (const std::string& argument : arguments) {
    std::ifstream stream;
    std::error_code error;
    const bool names_file = argument.size() > 1 && argument[0] == '@' && files < most_files;
    // A directory can be opened, but not read.
    if (names_file && !std::filesystem::is_directory(argument.substr(1), error)) stream.open(argument.substr(1));
    if (!stream.is_open()) {
      all.push_back(argument);
      continue;
    }
    ++files;
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    append_expanded(split(text), files, all);
  }
}

using std::string_view;

/// Options whose value is the next argument, of gcc 12 (gcc/common.opt, c.opt, fortran/lang.opt and the driver's specs)
/// and clang 14 (clang/Driver/Options.td). Only such values matter that could be taken for a source or for an option.
constexpr string_view separate_values =
    " --assert --define-macro --dump --dumpbase --dumpdir --entry --for-assembler --for-linker "
    "--force-link --imacros --include --include-directory --include-directory-after --include-prefix "
    "--include-with-prefix --include-with-prefix-after --include-with-prefix-before --library-directory "
    "--output-class-directory --param --prefix --print-file-name --print-prog-name --specs --sysroot "
    "--undefine-macro -A -B -D -F -G -I -J -L -MF -MJ -MQ -MT -T -Tbss -Tdata -Ttext -U -Xanalyzer "
    "-Xarch_device -Xarch_host -Xassembler -Xclang -Xclang-as -Xflang -Xlinker -Xopenmp-target "
    "-Xpreprocessor -arch -aux-info -auxbase -auxbase-strip -cxx-isystem -dependency-file -dumpbase "
    "-dumpbase-ext -dumpdir -e -fmodule-mapper -framework -gcc-toolchain -idirafter -iframework "
    "-iframeworkwithsysroot -imacros -imultiarch -imultilib -include -include-pch -iplugindir -iprefix "
    "-iquote -isysroot -isystem -isystem-after -ivfsoverlay -iwithprefix -iwithprefixbefore "
    "-iwithsysroot -l -mllvm -serialize-diagnostics -specs -target -target-feature -u -working-directory "
    "-wrapper -z ";

/// They end the work before there is an object.
constexpr string_view earlier_ends =
    " -E -S -M -MM -fsyntax-only --preprocess --assemble --dependencies --user-dependencies -### ";

/// The suffixes that gcc and clang compile or assemble; anything else they leave to the linker.
constexpr string_view source_suffixes =
    " .c .i .ii .m .mi .mm .M .mii .cc .cp .cxx .cpp .CPP .c++ .C .CC .CXX .c++m .cppm .ixx .s .S .asm "
    ".sx .f .for .ftn .F .FOR .fpp .FPP .FTN .f77 .F77 .f90 .f95 .f03 .f08 .F90 .F95 .F03 .F08 .go .d "
    ".di .dd .adb .ads .cu .cl .ll .bc .hip .mod ";

/// Whether it is one of the words of a list that has a space before and after each.
bool is_among(string_view list, const std::string& word) {
  return !word.empty() && word.find(' ') == std::string::npos && list.find(' ' + word + ' ') != string_view::npos;
}

/// The command line of one run of a compiler, read from left to right.
class CommandLine {
 public:
  explicit CommandLine(const std::vector<std::string>& arguments) {
    for (auto next = arguments.begin(); next != arguments.end(); ++next) {
      // The name of an option with its value in the next argument: both are read here.
      const auto value = [&]() -> string_view {
        return next + 1 == arguments.end() ? string_view() : string_view(*++next);
      };
      if (only_inputs_) {
        take_input(*next);
      } else if (*next == "-o" || *next == "--output") {
        output_ = value();
      } else if (*next == "-x" || *next == "--language") {
        take_language(value());
      } else if (is_among(separate_values, *next)) {
        value();
      } else {
        take(*next);
      }
    }
  }

  std::vector<std::filesystem::path> objects() const {
    if (!compiles_ || ends_earlier_) return {};
    if (!output_) return objects_of_sources_;
    if (header_ || is_stream(*output_)) return {};
    return {std::filesystem::path(*output_)};
  }

 private:
  void take(const std::string& argument) {
    if (argument == "-c" || argument == "--compile") {
      compiles_ = true;
    } else if (is_among(earlier_ends, argument)) {
      ends_earlier_ = true;
    } else if (argument == "--") {
      only_inputs_ = true;
    } else if (argument.starts_with("--output=")) {
      output_ = argument.substr(argument.find('=') + 1);
    } else if (argument.starts_with("--language=")) {
      take_language(string_view(argument).substr(argument.find('=') + 1));
    } else if (argument.starts_with("-x")) {
      take_language(string_view(argument).substr(2));
    } else if (argument.starts_with("-o") && !argument.starts_with("-objcmt-")) {  // clang's migrator of Objective-C
      output_ = argument.substr(2);
    } else if (argument == "-" || !argument.starts_with('-')) {
      take_input(argument);
    }
  }

  void take_language(string_view language) {
    given_language_ = language != "none";
    header_ = language.ends_with("-header");
  }

  void take_input(const std::string& name) {
    const std::filesystem::path path(name);
    if (header_ || !(given_language_ || is_among(source_suffixes, path.extension().native()))) return;
    objects_of_sources_.push_back(path.filename().replace_extension(".o"));
  }

  /// A name that stands for whatever is open already. A file after it must not be renamed over.
  static bool is_stream(string_view name) {
    return name.empty() || name == "-" || name.starts_with("/dev/") || name.starts_with("/proc/");
  }

  bool compiles_ = false, ends_earlier_ = false, only_inputs_ = false;
  bool given_language_ = false;  ///< by -x: suffixes say nothing
  bool header_ = false;          ///< by -x: the output is a precompiled header
  std::optional<std::string> output_;
  std::vector<std::filesystem::path> objects_of_sources_;
};

/// Those that a terminal, a build system or a shutdown sends to end a build. A terminal sends them to the command too:
/// a second one does no harm.
constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

volatile std::sig_atomic_t child = 0;
volatile std::sig_atomic_t signal_received = 0;

void pass_on(int number) {
  const int error_number = errno;
  signal_received = number;
  if (child > 0) ::kill(child, number);
  errno = error_number;
}

/// Passes signals on for as long as it lives.
class PassingOn {
 public:
  PassingOn() {
    struct sigaction action {};
    action.sa_handler = pass_on;
    for (std::size_t i = 0; i < ending_signals.size(); ++i) {
      ::sigaction(ending_signals[i], nullptr, &before_[i]);
      // A program that ignores them (nohup) goes on ignoring them.
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(ending_signals[i], &action, nullptr);
    }
  }
  ~PassingOn() {
    for (std::size_t i = 0; i < ending_signals.size(); ++i) ::sigaction(ending_signals[i], &before_[i], nullptr);
  }
  PassingOn(const PassingOn&) = delete;
  PassingOn& operator=(const PassingOn&) = delete;

 private:
  std::array<struct sigaction, ending_signals.size()> before_{};
};

std::vector<char*> pointers_to(const std::vector<std::string>& command) {
  std::vector<char*> pointers;
  pointers.reserve(command.size() + 1);
  // exec's argument is not const for reasons of history: it changes nothing.
  for (const std::string& argument : command) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

int wait_for(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) throw SystemFailure("compiler", "wait for it", errno);
  }
  return status;
}

/// Ends as the command did, so that the caller sees what the command would have shown it, without a second core file.
[[noreturn]] void end_by(int number) {
  constexpr rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none);
  std::signal(number, SIG_DFL);
  sigset_t unblocked;
  sigemptyset(&unblocked);
  sigaddset(&unblocked, number);
  ::sigprocmask(SIG_UNBLOCK, &unblocked, nullptr);
  std::raise(number);
  ::_exit(128 + number);
}

}  // namespace

std::vector<std::string> expand_response_files(const std::vector<std::string>& arguments) {
  std::vector<std::string> all;
  int files = 0;
  append_expanded(arguments, files, all);
  return all;
}

std::vector<std::filesystem::path> objects_made_by(const std::vector<std::string>& command) {
  if (command.empty()) return {};
  return CommandLine(expand_response_files({command.begin() + 1, command.end()})).objects();
}

CannotStart::CannotStart(const std::string& program, int error_number)
    : SystemFailure(program, "run", error_number), exit_status_(error_number == ENOENT ? 127 : 126) {}

void become(const std::vector<std::string>& command) {
  ::execvp(command.front().c_str(), pointers_to(command).data());
  throw CannotStart(command.front(), errno);
}

int run(const std::vector<std::string>& command) {
  int status = 0;
  // A parent may ignore it. Then the command's status is lost: waitpid() fails with ECHILD. The command starts with the
  // default as well, as gcc and other programs that wait for children set it themselves.
  std::signal(SIGCHLD, SIG_DFL);
  {
    const PassingOn passing_on;
    pid_t process = 0;
    // Handlers do not outlive exec, so the command starts with the signals as they were.
    const int error =
        ::posix_spawnp(&process, command.front().c_str(), nullptr, nullptr, pointers_to(command).data(), environ);
    if (error != 0) throw CannotStart(command.front(), error);
    child = process;
    if (signal_received != 0) ::kill(process, signal_received);  // It came before there was anyone to pass it on to.
    status = wait_for(process);
    child = 0;
  }
  if (WIFSIGNALED(status)) end_by(WTERMSIG(status));
  if (signal_received != 0) end_by(signal_received);
  return WEXITSTATUS(status);
}

}  // namespace sframe_gen::cli::launch
