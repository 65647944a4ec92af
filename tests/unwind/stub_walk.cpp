// Walks stacks of stopped programs by the library, of whatever machine. Standard input: "BIAS FILE" for each module, an
// empty line, and for each stop "PC SP FP RA BYTES", all in hexadecimal, the bytes those from SP on. Standard output,
// for each: how the walk ends, and the PCs, with "; " between.

#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/unwind.hpp"

namespace {

using namespace sframe_gen;

struct File {
  File(const std::string& path, std::uint64_t bias) : image(elf::Image::open(path)) {
    const elf::Section* const section = image.find_section(".sframe");
    if (section == nullptr || view.open(image.bytes_of(*section), section->header.sh_addr)) {
      std::cerr << path << ": no section, or a damaged one\n";
      std::exit(1);
    }
    module = {UINT64_MAX, 0, bias, &view};
    for (const Elf64_Phdr& segment : image.segments()) {
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      module.begin = std::min(module.begin, bias + segment.p_vaddr);
      module.end = std::max(module.end, bias + segment.p_vaddr + segment.p_memsz);
    }
  }

  elf::Image image;
  sframe::SectionView view;
  unwind::Module module;
};

struct Numbers {
  std::uint32_t stack_pointer, frame_pointer, return_address;
};

Numbers numbers_of(sframe::Abi abi) {
  switch (abi) {
    case sframe::Abi::Amd64:
      return {7, 6, 16};
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little:
      return {31, 29, 30};
    case sframe::Abi::S390x:
      return {15, 11, 14};
  }
  return {};
}

struct Stack {
  std::uint64_t begin = 0;
  std::vector<std::byte> bytes;
};

bool read_stack(void* context, std::uint64_t address, void* bytes) {
  const auto& stack = *static_cast<const Stack*>(context);
  const std::uint64_t offset = address - stack.begin;
  if (offset >= stack.bytes.size() || stack.bytes.size() - offset < 8) return false;
  std::memcpy(bytes, stack.bytes.data() + offset, 8);
  return true;
}

void walk(const std::string& line, std::span<const unwind::Module> modules, sframe::Abi abi) {
  std::istringstream words(line);
  std::uint64_t frame_pointer = 0, return_address = 0;
  unwind::Registers registers;
  Stack stack;
  std::string bytes;
  words >> std::hex >> registers.pc >> stack.begin >> frame_pointer >> return_address >> bytes;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2)
    stack.bytes.push_back(static_cast<std::byte>(std::stoul(bytes.substr(i, 2), nullptr, 16)));
  const Numbers numbers = numbers_of(abi);
  registers.set(numbers.stack_pointer, stack.begin);
  registers.set(numbers.frame_pointer, frame_pointer);
  if (abi != sframe::Abi::Amd64) registers.set(numbers.return_address, return_address);
  unwind::Walked walked;
  walked.modules = modules;
  walked.read = read_stack;
  walked.context = &stack;
  std::array<std::uint64_t, 64> pcs{};
  unwind::Stop stop{};
  const std::size_t count = unwind::Unwinder(walked).walk(registers, pcs, stop);
  std::cout << unwind::text_of(stop);
  for (std::size_t i = 0; i < count; ++i) std::cout << "; " << std::hex << pcs[i];
  std::cout << '\n';
}

}  // namespace

int main() {
  std::deque<File> files;  // views are referred to
  std::vector<unwind::Module> modules;
  std::string line;
  while (std::getline(std::cin, line) && !line.empty()) {
    const std::size_t space = line.find(' ');
    files.emplace_back(line.substr(space + 1), std::stoull(line.substr(0, space), nullptr, 16));
    modules.push_back(files.back().module);
  }
  if (files.empty()) return 1;
  while (std::getline(std::cin, line)) walk(line, modules, files.front().view.abi());
  return 0;
}
