#include "elf/preconditions.hpp"

#include <gtest/gtest.h>
#include <sys/auxv.h>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

/// What is said about a small library after `edit`.
std::string refusal_after(const std::function<void(Fields&)>& edit, const std::string& name = "file") {
  const Folder folder;
  change(small_library(), folder / name, edit);
  const std::string message = failure_of([&] { inject(folder / name, folder / "output", 64); });
  EXPECT_FALSE(std::filesystem::exists(folder / "output") && !message.empty());
  const std::string prefix = (folder / name).string() + ": ";
  return message.substr(0, prefix.size()) == prefix ? message.substr(prefix.size()) : message;
}

void expect_refusal(const std::string& part, const std::function<void(Fields&)>& edit) {
  const std::string message = refusal_after(edit);
  EXPECT_NE(message.find(part), std::string::npos) << "wanted: " << part << "\ngot: " << message;
}

TEST(Preconditions, AcceptAnOrdinaryLibrary) {
  EXPECT_EQ(refusal_after([](Fields&) {}), "");
}

TEST(Preconditions, RefuseOtherKindsOfFiles) {
  expect_refusal("relocatable object, not a program or library", [](Fields& f) { f.header.e_type = ET_REL; });
  expect_refusal("core file", [](Fields& f) { f.header.e_type = ET_CORE; });
  expect_refusal("ELF file of type 0xfe00", [](Fields& f) { f.header.e_type = ET_LOOS; });
  expect_refusal("architecture is EM_RISCV (243), but SFrame has no ABI for it",
                 [](Fields& f) { f.header.e_machine = EM_RISCV; });
  expect_refusal("architecture is 4660,", [](Fields& f) { f.header.e_machine = 0x1234; });
  expect_refusal("architecture is EM_S390 (22) in little-endian byte order,",
                 [](Fields& f) { f.header.e_machine = EM_S390; });
}

// no_headers_test.cpp has those that are not refused.
TEST(Preconditions, RefuseFilesWithoutSectionHeaders) {
  const auto drop = [](Fields& f) { drop_section_headers(f); };
  expect_refusal("bytes appended at", [](Fields& f) {
    const std::string bytes = f.bytes;
    drop_section_headers(f);
    f.bytes = bytes;
  });
  expect_refusal("packed by UPX", [&](Fields& f) {
    drop(f);
    f.bytes.replace(sizeof(Elf64_Ehdr) + f.segments.size() * sizeof(Elf64_Phdr) + 4, 4, "UPX!");
  });
  expect_refusal("no section names", [](Fields& f) { f.header.e_shstrndx = 0; });
}

TEST(Preconditions, RefuseSeparateDebugFiles) {
  const Folder folder;
  ASSERT_EQ(run("objcopy --only-keep-debug " + small_library().string() + " " + (folder / "a.debug").string()).status,
            0);
  EXPECT_NE(failure_of([&] { inject(folder / "a.debug", folder / "b", 64); }).find("separate debug file"),
            std::string::npos);
}

TEST(Preconditions, RefusePrelinkedFiles) {
  const Folder folder;
  write_text(folder / "undo", "undo");
  ASSERT_EQ(run("objcopy --add-section .gnu.prelink_undo=" + (folder / "undo").string() + " " +
                small_library().string() + " " + (folder / "a").string())
                .status,
            0);
  EXPECT_NE(failure_of([&] { inject(folder / "a", folder / "b", 64); }).find("prelinked"), std::string::npos);
  expect_refusal("prelinked", [](Fields& f) {
    const std::uint64_t at = f.segment(PT_DYNAMIC).p_offset;
    store<std::uint64_t>(std::as_writable_bytes(std::span(f.bytes)).subspan(at), DT_GNU_PRELINKED, Endian::Little);
  });
}

TEST(Preconditions, RefuseAppendedData) {
  expect_refusal("bytes appended at", [](Fields& f) { f.bytes += "payload of an installer"; });
  expect_refusal("signed kernel module", [](Fields& f) { f.bytes += "~Module signature appended~\n"; });
  EXPECT_EQ(refusal_after([](Fields& f) { f.bytes += std::string(100, '\0'); }), "");
}

TEST(Preconditions, RefuseSignedFiles) {
  const Folder folder;
  write_text(folder / "signature", "of all bytes but these");
  for (const std::string name : {"signature", ".SUNW_signature", ".note.fdo.integrity"}) {
    ASSERT_EQ(run("objcopy --add-section " + name + "=" + (folder / "signature").string() + " " +
                  small_library().string() + " " + (folder / "signed").string())
                  .status,
              0);
    EXPECT_NE(failure_of([&] { inject(folder / "signed", folder / "output", 64); }).find("signed (section " + name),
              std::string::npos);
  }
}

// The one that this very process has.
TEST(Preconditions, RefuseTheVdso) {
  const Folder folder;
  const auto* const start = reinterpret_cast<const char*>(::getauxval(AT_SYSINFO_EHDR));
  ASSERT_NE(start, nullptr);
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(start);
  const std::size_t size = header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr);
  std::ofstream(folder / "vdso.so", std::ios::binary).write(start, static_cast<std::streamsize>(size));
  EXPECT_NE(failure_of([&] { inject(folder / "vdso.so", folder / "output", 64); }).find("vDSO"), std::string::npos);
}

TEST(Preconditions, RefuseProgramHeadersOutsideMemory) {
  expect_refusal("at file offset 0x2f8, where no PT_LOAD loads them", [](Fields& f) {
    const std::string table = f.bytes.substr(f.header.e_phoff, f.segments.size() * sizeof(Elf64_Phdr));
    f.header.e_phoff = 0x2f8;
    f.bytes.replace(0x2f8, table.size(), table);
    f.segments.clear();
  });
}

TEST(Preconditions, RefuseOverlappingSegments) {
  expect_refusal("overlap or are not sorted", [](Fields& f) { f.segment(PT_LOAD).p_memsz += 0x100000; });
  expect_refusal("overlap or are not sorted", [](Fields& f) {
    Elf64_Phdr& first = f.segment(PT_LOAD);
    std::swap(first, *(&first + 1));
  });
  expect_refusal("no PT_LOAD", [](Fields& f) {
    for (Elf64_Phdr& s : f.segments) s.p_type = s.p_type == PT_LOAD ? PT_NOTE : s.p_type;
  });
}

TEST(Preconditions, RefuseKernelAddresses) {
  expect_refusal("outside user space",
                 [](Fields& f) { f.segments.back().p_type = PT_LOAD, f.segments.back().p_vaddr = 0xffffffff81000000; });
}

TEST(Preconditions, NameTheMalformedHeader) {
  expect_refusal("program header 0+0x30: alignment 0x1800 is not a power of two",
                 [](Fields& f) { f.segments[0].p_align = 0x1800; });
}

TEST(Preconditions, RefuseHeadersThatContradictEachOther) {
  expect_refusal("file+0x40: the program headers and section 3 overlap", [](Fields& f) {
    f.sections[3].sh_offset = 0x40;
    f.sections[3].sh_name = 0;
  });
  expect_refusal("is not that of section .dynamic", [](Fields& f) { f.segment(PT_DYNAMIC).p_offset -= 16; });
}

// Rows of the stubs in such a section would be at its address, where other code is.
TEST(Preconditions, RefuseASectionThatIsLoadedElsewhere) {
  const auto move = [](Fields& f, std::uint32_t type) {
    const auto section = std::ranges::find_if(f.sections, [&](const Elf64_Shdr& s) { return s.sh_type == type; });
    section->sh_addr += 8;
  };
  expect_refusal("+0x0: address 0x", [&](Fields& f) { move(f, SHT_PROGBITS); });
  expect_refusal("is not where a PT_LOAD loads its bytes, which are at file offset 0x",
                 [&](Fields& f) { move(f, SHT_GNU_HASH); });
}

TEST(Preconditions, HostileNumbersDoNotWrap) {
  const std::array<std::uint64_t, 5> hostile{UINT64_MAX, UINT64_MAX - 7, std::uint64_t{1} << 63, std::uint64_t{1} << 61,
                                             0x7fffffffffffULL};
  for (const std::uint64_t number : hostile) {
    for (const auto field : {&Elf64_Phdr::p_offset, &Elf64_Phdr::p_vaddr, &Elf64_Phdr::p_filesz, &Elf64_Phdr::p_memsz,
                             &Elf64_Phdr::p_align}) {
      for (std::size_t i = 0; i < Image::open(small_library()).segments().size(); ++i)
        refusal_after([&](Fields& f) { f.segments[i].*field = number; });
    }
    for (const auto field :
         {&Elf64_Shdr::sh_offset, &Elf64_Shdr::sh_addr, &Elf64_Shdr::sh_size, &Elf64_Shdr::sh_addralign}) {
      for (std::size_t i = 1; i < Image::open(small_library()).sections().size(); ++i)
        refusal_after([&](Fields& f) { f.sections[i].*field = number; });
    }
  }
}

TEST(Preconditions, RefuseCodeAndDataThatSeemToBeTablesOfIndices) {
  for (const std::uint32_t type : std::initializer_list<std::uint32_t>{SHT_SYMTAB, SHT_SYMTAB_SHNDX, SHT_GROUP}) {
    expect_refusal("is loaded, but its type", [type](Fields& f) {
      for (Elf64_Shdr& s : f.sections)
        if ((s.sh_flags & SHF_WRITE) != 0 && s.sh_type == SHT_PROGBITS) s.sh_type = type;
    });
  }
  expect_refusal("is not DT_SYMTAB's", [](Fields& f) {
    for (Elf64_Shdr& s : f.sections)
      if ((s.sh_flags & SHF_WRITE) != 0 && s.sh_type == SHT_PROGBITS) s.sh_type = SHT_DYNSYM;
  });
}

TEST(Preconditions, KnowDynamicLoaders) {
  const Folder folder;
  for (const char* name :
       {"ld-linux-x86-64.so.2", "ld.so.1", "ld64.so.2", "libc.musl-x86_64.so.1", "ld-musl-x86_64.so.1"}) {
    std::filesystem::copy_file(small_library(), folder / name);
    EXPECT_TRUE(is_dynamic_loader(Image::open(folder / name))) << name;
  }
  EXPECT_FALSE(is_dynamic_loader(Image::open(small_library())));
  const std::string message = failure_of([&] { inject(folder / "ld.so.1", folder / "output", 0x12345); });
  EXPECT_NE(message.find("dynamic loader"), std::string::npos) << message;
  EXPECT_EQ(inject(folder / "ld.so.1", folder / "output", 64).section_plan, SectionPlan::Gap);
}

}  // namespace
}  // namespace sframe_gen::elf::test
