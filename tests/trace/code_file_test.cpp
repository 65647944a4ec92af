// A file with a section of its own that lacks functions: what it leaves out is translated, and it stays as it was.

#include "trace/walk/code_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "elf/notes.hpp"
#include "elf/symbol_names.hpp"
#include "sframe_gen/convert.hpp"
#include "sframe_gen/encode.hpp"
#include "sframe_gen/section.hpp"
#include "support/endian.hpp"
#include "support/folder.hpp"
#include "trace/live/process.hpp"
#include "trace/walk/address_space.hpp"
#include "trace/walk/stack.hpp"
#include "unwind/registers.hpp"

namespace sframe_gen::test {
namespace {

constexpr std::uint64_t loaded_at = 0x7f0000000000, stack_address = 0x7ffe0000;
constexpr std::int32_t own_shift = 0x1000;  ///< how much larger CFA offsets are in the file's own section

/// /bin/true, converted, but for every other function; the rows of the others are marked.
class HalfConverted {
 public:
  HalfConverted() {
    const std::filesystem::path path = folder_.path() / "true";
    convert_file("/bin/true", path);
    const elf::Image whole = elf::Image::open(path);
    bytes_.assign(whole.file_bytes().begin(), whole.file_bytes().end());
    const elf::Section& section = *whole.find_section(".sframe");
    sframe::Section decoded =
        sframe::decode(whole.bytes_of(section), section.header.sh_addr, {path.string(), ".sframe"});
    for (const sframe::Fde& function : decoded.fdes) {
      const bool is_outermost = function.fres.empty() || !function.fres.front().recovery;
      if (!is_outermost) (own_.size() <= others_.size() ? own_ : others_).push_back(function);
    }
    for (sframe::Fde& function : own_) {
      for (sframe::Fre& row : function.fres) {
        if (row.recovery) row.recovery->cfa.offset += own_shift;
      }
    }
    decoded.fdes = own_;
    const std::vector<std::byte> half = sframe::encode(decoded);
    EXPECT_LE(half.size(), section.header.sh_size);
    std::memcpy(bytes_.data() + section.header.sh_offset, half.data(), half.size());
    const std::size_t header = whole.header().e_shoff + section.index * sizeof(Elf64_Shdr);
    store<std::uint64_t>(std::span(bytes_).subspan(header + offsetof(Elf64_Shdr, sh_size)), half.size(),
                         whole.endian());
    file_ = std::make_shared<trace::walk::CodeFile>(elf::Image::of_bytes(bytes_, "true"), std::vector<std::byte>(),
                                                    options_, system_);
    for (const Elf64_Phdr& segment : file_->image().segments()) {
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) code_ = segment;
    }
  }

  /// A program that has mapped it.
  trace::walk::AddressSpace program() const {
    trace::walk::Mapping mapping;
    mapping.begin = loaded_at;
    mapping.end = loaded_at + code_.p_filesz;
    mapping.file_offset = code_.p_offset;
    mapping.path = "true";
    return {{mapping}, [file = file_](const trace::walk::Mapping&) { return trace::walk::OpenedFile{file, {}}; }};
  }
  std::uint64_t address_of(const sframe::Fde& function) const { return function.start - code_.p_vaddr + loaded_at; }
  /// Functions that the section has, and those that it lacks.
  const std::vector<sframe::Fde>& own() const { return own_; }
  const std::vector<sframe::Fde>& others() const { return others_; }

 private:
  Folder folder_;
  std::vector<std::byte> bytes_;
  std::vector<sframe::Fde> own_, others_;
  trace::walk::TranslationOptions options_;
  trace::FileRoot system_;
  std::shared_ptr<trace::walk::CodeFile> file_;
  Elf64_Phdr code_{};
};

/// Return addresses in no mapping.
bool read_one(void*, std::uint64_t, void* bytes) {
  constexpr std::uint64_t one = 1;
  std::memcpy(bytes, &one, sizeof one);
  return true;
}

unwind::Registers at(std::uint64_t pc) {
  unwind::Registers registers;
  registers.pc = pc;
  for (std::uint32_t number = 0; number < unwind::Registers::count; ++number) registers.set(number, stack_address);
  return registers;
}

/// Which rows a walk goes by there: "own", "translated" or "none".
std::string rows_at(trace::walk::Walker& walker, trace::walk::AddressSpace& space, std::uint64_t pc) {
  const trace::walk::Stack walked = walker.walk(space, at(pc), read_one, nullptr);
  if (walked.frames.size() < 2) return "none";
  unwind::Walked modules;
  modules.modules = space.modules().modules();
  modules.read = read_one;
  unwind::Registers registers = at(pc);
  EXPECT_EQ(unwind::Unwinder(modules).step(registers), unwind::Stop::Stepped);
  return registers.values[unwind::host_traits.stack_pointer] - stack_address >= own_shift ? "own" : "translated";
}

TEST(CodeFile, ItsOwnSectionCountsAfterAGapInItToo) {
  const HalfConverted file;
  ASSERT_GT(file.others().size(), 8U);
  trace::walk::AddressSpace program = file.program();
  trace::walk::Walker walker(9, false);
  for (int again = 0; again < 2; ++again) {
    for (std::size_t i = 0; i < file.others().size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(rows_at(walker, program, file.address_of(file.own()[i])), "own");
      EXPECT_EQ(rows_at(walker, program, file.address_of(file.others()[i])), "translated");
    }
  }
}

/// The table of pages of one section is not that of another.
TEST(CodeFile, ProgramsShareIt) {
  const HalfConverted file;
  trace::walk::AddressSpace first = file.program(), second = file.program();
  trace::walk::Walker walker(9, false);
  EXPECT_EQ(rows_at(walker, first, file.address_of(file.own().front())), "own");
  EXPECT_EQ(rows_at(walker, second, file.address_of(file.others().front())), "translated");
  for (const sframe::Fde& function : file.own()) {
    EXPECT_EQ(rows_at(walker, first, file.address_of(function)), "own");
    EXPECT_EQ(rows_at(walker, second, file.address_of(function)), "own");
  }
}

/// The test's own C library and a debug file of it whose .dynsym is emptied.
TEST(CodeFile, HasTheNamesThatItsDebugFileLacks) {
  std::string path;
  for (const trace::walk::Mapping& mapping : trace::live::executable_mappings_of(::getpid()))
    if (mapping.path.find("/libc.so") != std::string::npos) path = mapping.path;
  elf::Image library = elf::Image::open(path);
  const auto function = elf::SymbolNames(library).find("qsort");
  ASSERT_TRUE(function) << path;
  std::vector<std::byte> bytes(library.file_bytes().begin(), library.file_bytes().end());
  const elf::Section& names = *library.find_section(".dynsym");
  const std::size_t header = library.header().e_shoff + names.index * sizeof(Elf64_Shdr);
  store<std::uint64_t>(std::span(bytes).subspan(header + offsetof(Elf64_Shdr, sh_size)), 0, library.endian());
  const Folder folder;
  const std::string id = elf::hex_digits(elf::build_id(library));
  const auto place = folder.path() / "usr/lib/debug/.build-id" / id.substr(0, 2);
  std::filesystem::create_directories(place);
  const auto text = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::ofstream(place / (id.substr(2) + ".debug"), std::ios::binary) << text;
  const trace::FileRoot root(folder.path());
  const trace::walk::TranslationOptions options;
  trace::walk::CodeFile file(std::move(library), {}, options, root);
  EXPECT_EQ(file.function_at(function->begin).name, "qsort");
}

}  // namespace
}  // namespace sframe_gen::test
