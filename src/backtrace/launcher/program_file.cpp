#include "backtrace/launcher/program_file.hpp"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "elf/dynamic_table.hpp"
#include "elf/image.hpp"

namespace sframe_gen::backtrace {
namespace {

#if defined(__x86_64__)
constexpr std::uint16_t own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t own_machine = EM_AARCH64;
#endif

bool can_be_run(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

/// Whether the kernel marks the program as one of more rights than its user's (AT_SECURE): the dynamic loader then
/// takes libraries of its own directories only, and those that are marked themselves.
bool gains_rights(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return false;
  const bool other_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != ::getuid();
  constexpr mode_t group_id = S_ISGID | S_IXGRP;
  const bool other_group = (status.st_mode & group_id) == group_id && status.st_gid != ::getgid();
  const bool has_capabilities = ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  return other_user || other_group || (has_capabilities && ::getuid() != 0);
}

/// The program that a script's first line names: "#!/usr/bin/env python3" names python3. A script without such a line
/// is the shell's, as execvp() starts it. Empty: it is no script.
std::filesystem::path interpreter_of(const std::filesystem::path& path) {
  if (::access(path.c_str(), R_OK) != 0) return {};
  std::ifstream file(path);
  std::array<char, 256> bytes{};  // as many as the kernel reads
  file.read(bytes.data(), bytes.size());
  std::istringstream words(std::string(bytes.data(), static_cast<std::size_t>(file.gcount())));
  std::string line, program, argument;
  std::getline(words, line);
  if (line.starts_with(ELFMAG)) return {};
  if (!line.starts_with("#!")) return "/bin/sh";
  std::istringstream(line.substr(2)) >> program >> argument;
  const bool by_name = std::filesystem::path(program).filename() == "env" && !argument.starts_with('-');
  return by_name && !argument.empty() ? find_command(argument) : std::filesystem::path(program);
}

/// AddressSanitizer of gcc is a library, and ends a program in which another one comes before it. That of clang is in
/// the program, which comes first anyway.
std::string sanitizer_runtime_of(const elf::Image& image) {
  const auto entries = elf::read_dynamic(image);
  for (const elf::DynamicEntry& entry : entries) {
    if (entry.tag != DT_NEEDED) continue;
    std::string name = elf::dynamic_string(image, entries, entry.value);
    if (name.starts_with("libasan.so.")) return name;
  }
  return {};
}

}  // namespace

std::filesystem::path find_command(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* const path = std::getenv("PATH");
  std::istringstream directories(path != nullptr ? path : "/bin:/usr/bin");
  for (std::string directory; std::getline(directories, directory, ':');) {
    auto file = std::filesystem::path(directory.empty() ? "." : directory) / name;
    if (can_be_run(file)) return file;
  }
  return {};
}

ProgramFile look_at_program(const std::filesystem::path& path) {
  ProgramFile found;
  if (!can_be_run(path)) return found;
  std::filesystem::path program = path;
  constexpr int most_scripts = 5;  // that the kernel follows
  for (int i = 0; i != most_scripts; ++i) {
    const auto interpreter = interpreter_of(program);
    if (interpreter.empty()) break;
    program = interpreter;
  }
  if (::access(program.c_str(), R_OK) != 0) return found;
  const elf::Image image = elf::Image::open(program);
  const auto name = program.string();
  if (image.header().e_machine != own_machine) {
    found.why_not = name + " is for another machine";
  } else if (image.find_segment(PT_INTERP) == nullptr) {
    found.why_not = name + " is linked statically, so no dynamic loader would load the library";
  } else if (gains_rights(program)) {
    found.why_not = name +
                    " gains rights when it starts (set-user-ID, set-group-ID or capabilities), so the dynamic loader "
                    "ignores the library";
  } else {
    found.sanitizer_runtime = sanitizer_runtime_of(image);
  }
  return found;
}

}  // namespace sframe_gen::backtrace
