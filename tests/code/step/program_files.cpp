#include "code/step/program_files.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

#include "elf/machine.hpp"

namespace sframe_gen::stepping {

namespace {

bool runs(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  const int child = ::fork();
  if (child == 0) {
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

/// The virtual address of code at an offset in a file.
std::optional<std::uint64_t> address_of(const elf::Image& image, std::uint64_t offset) {
  for (const Elf64_Phdr& segment : image.segments())
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && elf::holds_offset(segment, offset))
      return segment.p_vaddr + (offset - segment.p_offset);
  return std::nullopt;
}

}  // namespace

std::filesystem::path Copies::of(const std::filesystem::path& file) const {
  const std::filesystem::path copy = folder_ / file.relative_path();
  const std::filesystem::path refused = copy.string() + ".refused";
  const auto is_made = [&](const std::filesystem::path& path) {
    return std::filesystem::exists(path) &&
           std::filesystem::last_write_time(path) >= std::filesystem::last_write_time(file);
  };
  if (is_made(copy)) return copy;
  if (is_made(refused)) return file;
  std::filesystem::create_directories(copy.parent_path());
  std::vector<std::string> command = command_;
  command.insert(command.end(), {"-q", "-o", copy.string(), file.string()});
  if (runs(command)) return copy;
  std::ofstream{refused};
  return file;
}

void ProgramFiles::look_again() {
  mappings_.clear();
  pcs_.clear();
}

void ProgramFiles::look_again_after(const Registers& before) {
  constexpr std::uint64_t mmap = 9, munmap = 11, mremap = 25;
  if (before.rax == mmap) return mappings_.clear();
  if (before.rax != munmap && before.rax != mremap) return;
  const Range gone{before.rdi, before.rdi + before.rsi};
  if (std::ranges::any_of(mappings_, [&](const Mapping& mapping) { return mapping.addresses.overlaps(gone); }))
    look_again();
}

FileRows* ProgramFiles::file_at(const std::string& path) {
  if (!path.starts_with('/') || path.find(only_) == std::string::npos) return nullptr;
  const auto [found, is_new] = files_.try_emplace(path);
  if (!is_new) return found->second.get();
  const auto begin = std::chrono::steady_clock::now();
  try {
    found->second = std::make_unique<FileRows>(path, copies_.of(path), proves_);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "step-rows: %s\n", failure.what());
  }
  preparation_ += std::chrono::steady_clock::now() - begin;
  return found->second.get();
}

void ProgramFiles::read_mappings(int process) {
  mappings_.clear();
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  std::string line;
  while (std::getline(maps, line)) {
    std::uint64_t begin = 0, end = 0, offset = 0;
    std::array<char, 5> flags{};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %n", &begin, &end, flags.data(), &offset, &path_at) < 4)
      continue;
    if (flags[2] != 'x') continue;
    const std::string path = path_at == 0 ? "" : line.substr(static_cast<std::size_t>(path_at));
    mappings_.push_back({{begin, end}, offset, file_at(path)});
  }
}

SteppedPc* ProgramFiles::find(const SteppedThread& thread, std::uint64_t pc) {
  const auto mapping_of = [&]() -> const Mapping* {
    const auto found =
        std::ranges::find_if(mappings_, [pc](const Mapping& mapping) { return mapping.addresses.contains(pc); });
    return found == mappings_.end() ? nullptr : &*found;
  };
  const Mapping* mapping = mapping_of();
  if (mapping == nullptr) {
    read_mappings(thread.process());
    mapping = mapping_of();
  }
  if (mapping == nullptr || mapping->file == nullptr) return nullptr;
  const auto address = address_of(mapping->file->image(), pc - mapping->addresses.begin + mapping->file_offset);
  if (!address) return nullptr;
  SteppedPc& found = mapping->file->at(*address);
  std::array<std::byte, 16> bytes{};
  thread.read(pc, bytes);
  found.kind = kind_of(bytes);
  return &found;
}

SteppedPc* ProgramFiles::at(const SteppedThread& thread, std::uint64_t pc) {
  if (const auto known = pcs_.find(pc); known != pcs_.end()) return known->second;
  SteppedPc* found = find(thread, pc);
  if (found != nullptr) pcs_.emplace(pc, found);
  return found;
}

}  // namespace sframe_gen::stepping
