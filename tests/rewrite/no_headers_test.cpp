// Files without section headers: what is made up for them, and what becomes of them.

#include <gtest/gtest.h>

#include "elf/headerless.hpp"
#include "elf/new_section.hpp"
#include "elf/notes.hpp"
#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

class NoHeaders : public testing::Test {
 protected:
  /// A copy without section headers, then edited.
  std::filesystem::path stripped(const std::filesystem::path& input, const std::function<void(Fields&)>& edit = {}) {
    change(input, folder_ / "stripped", [&](Fields& f) {
      drop_section_headers(f);
      if (edit) edit(f);
    });
    return folder_ / "stripped";
  }

  Layout convert(const std::filesystem::path& input) { return inject(input, folder_ / "converted", 64); }

  std::string refusal(const std::function<void(Fields&)>& edit) {
    const auto file = stripped(small_library(), edit);
    return failure_of([&] { convert(file); });
  }

  /// Writes to bytes of the file that hold an address.
  static void poke(Fields& f, std::uint64_t offset, const std::string& bytes) {
    f.bytes.replace(offset, bytes.size(), bytes);
  }

  Folder folder_;
};

void expect_same_place(const Image& with, const Image& without, const std::string& name) {
  const Section* const expected = with.find_section(name);
  if (expected == nullptr || expected->header.sh_size == 0) return;
  const Section* const found = without.find_section(name);
  ASSERT_NE(found, nullptr) << name;
  EXPECT_EQ(found->header.sh_addr, expected->header.sh_addr) << name;
  EXPECT_EQ(found->header.sh_offset, expected->header.sh_offset) << name;
  EXPECT_EQ(found->header.sh_size, expected->header.sh_size) << name;
  const bool is_frames = name.starts_with(".eh_frame");  // of SHT_X86_64_UNWIND, for some linkers
  EXPECT_EQ(found->header.sh_type, is_frames ? std::uint32_t{SHT_PROGBITS} : expected->header.sh_type) << name;
  EXPECT_EQ(found->header.sh_flags & SHF_ALLOC, SHF_ALLOC) << name;
}

class LinkedBy : public NoHeaders, public testing::WithParamInterface<const char*> {
 protected:
  void expect_same_sections(const std::string& options) {
    write_text(folder_ / "a.c",
               "#include <stdio.h>\nint data = 3; __thread int tls; int f(int i) { return tls += data + i; }\n"
               "int main(int c, char** v) { return printf(\"%d %s\", f(c), *v) < 0; }\n");
    const auto path = folder_ / "program";
    const std::string command = "gcc -O1 -Wl,--build-id -fuse-ld=" + std::string(GetParam()) + " " + options + " -o " +
                                path.string() + " " + (folder_ / "a.c").string();
    ASSERT_EQ(run(command).status, 0) << command;
    SCOPED_TRACE(command);
    const Image with = Image::open(path);
    const Image without = Image::open(stripped(path));
    EXPECT_FALSE(without.has_section_headers());
    for (const char* name : {".interp", ".note.gnu.property", ".note.gnu.build-id", ".note.ABI-tag", ".dynamic",
                             ".gnu.hash", ".hash", ".dynsym", ".dynstr", ".gnu.version", ".eh_frame_hdr", ".eh_frame"})
      expect_same_place(with, without, name);
    EXPECT_TRUE(
        std::equal(build_id(with).begin(), build_id(with).end(), build_id(without).begin(), build_id(without).end()));
    convert(folder_ / "stripped");
  }
};

// The linker's own headers are the judge. Without symbols to hash, GNU ld does not say how many there are.
TEST_P(LinkedBy, SectionsAreWhereTheLinkerHadThem) {
  for (const char* options : {"-fPIE -pie", "-fno-pie -no-pie -rdynamic", "-fPIC -shared", "-static -Wl,--eh-frame-hdr",
                              "-fPIC -shared -Wl,--hash-style=sysv", "-fPIC -shared -Wl,--hash-style=both"})
    expect_same_sections(options);
}

INSTANTIATE_TEST_SUITE_P(Linkers, LinkedBy, testing::Values("bfd", "gold", "lld", "mold"));

TEST_F(NoHeaders, EveryLoadedByteBelongsToOneSection) {
  const Image image = Image::open(stripped(small_library()));
  std::vector<unsigned> owners(image.file_bytes().size());
  for (const Section& section : image.sections())
    for (std::uint64_t i = 0; i < section.header.sh_size; ++i) ++owners.at(section.header.sh_offset + i);
  const std::uint64_t table_end = sizeof(Elf64_Ehdr) + image.segments().size() * sizeof(Elf64_Phdr);
  for (const Elf64_Phdr& load : image.segments()) {
    if (load.p_type != PT_LOAD) continue;
    for (std::uint64_t at = std::max<std::uint64_t>(load.p_offset, table_end); at < load.p_offset + load.p_filesz; ++at)
      EXPECT_TRUE(owners[at] == 1 || (owners[at] == 0 && image.file_bytes()[at] == std::byte{0})) << at;
  }
}

TEST_F(NoHeaders, OutputHasNoneEither) {
  const Layout layout = convert(stripped(small_library(), [](Fields& f) { f.header.e_shoff = 0x123456789; }));
  const Image converted = Image::open(folder_ / "converted");
  EXPECT_EQ(converted.header().e_shoff, 0U);
  EXPECT_EQ(converted.header().e_shnum, 0U);
  const Elf64_Phdr* const segment = converted.find_segment(segment_type_gnu_sframe);
  ASSERT_NE(segment, nullptr);
  EXPECT_EQ(segment->p_vaddr, layout.section_address);
  EXPECT_EQ(layout.section_plan, SectionPlan::Gap);
  ASSERT_NE(converted.find_section(".sframe"), nullptr);
  EXPECT_EQ(converted.bytes_of(*converted.find_section(".sframe")).size(), 64U);
}

// e_shnum 0 with an e_shoff means extended numbering only where there is a section header 0.
TEST_F(NoHeaders, StaleOffsetOfTheTableIsNoTable) {
  for (const std::uint64_t offset : {std::uint64_t{1}, std::uint64_t{0x40}, std::uint64_t{0x100000}, UINT64_MAX}) {
    const auto file = stripped(small_library(), [&](Fields& f) { f.header.e_shoff = offset; });
    EXPECT_FALSE(Image::open(file).has_section_headers()) << offset;
    EXPECT_EQ(failure_of([&] { convert(file); }), "") << offset;
  }
}

TEST_F(NoHeaders, AnotherRunStartsFromTheOriginal) {
  const auto file = stripped(small_library());
  convert(file);
  inject(folder_ / "converted", folder_ / "again", 64);
  EXPECT_EQ(read_text(folder_ / "converted"), read_text(folder_ / "again"));
}

TEST_F(NoHeaders, AChangedFileIsNotGivenBackButConverted) {
  convert(stripped(small_library()));
  const std::string before = read_text(folder_ / "converted");
  const Image converted = Image::open(folder_ / "converted");
  for (const std::uint64_t at : {std::uint64_t{16}, std::uint64_t{0x1000}, before.size() - 30}) {
    std::string text = before;
    text[at] = static_cast<char>(text[at] ^ 1);
    write_text(folder_ / "changed", text);
    EXPECT_NE(failure_of([&] { describe_original(Image::open(folder_ / "changed"), sframe_section); }), "") << at;
  }
  std::string text = before;
  text[0x1000] = static_cast<char>(text[0x1000] ^ 1);  // code
  write_text(folder_ / "changed", text);
  inject(folder_ / "changed", folder_ / "again", 128);
  EXPECT_EQ(Image::open(folder_ / "again").find_segment(segment_type_gnu_sframe)->p_filesz, 128U);
}

// Zeros behind the program headers may be data of the program, as nothing says that they are not.
TEST_F(NoHeaders, ZerosBehindTheTableAreNotTaken) {
  const auto hide_notes = [](Fields& f) {
    for (Elf64_Phdr& s : f.segments) {
      if (s.p_type != PT_NOTE && s.p_type != PT_GNU_PROPERTY) continue;
      f.bytes.replace(s.p_offset, s.p_filesz, std::string(s.p_filesz, '\0'));
      s.p_type = PT_LOOS;
      s.p_offset = s.p_vaddr = s.p_filesz = s.p_memsz = 0;
    }
  };
  EXPECT_NE(refusal(hide_notes).find("section of unknown bytes at 0x"), std::string::npos) << refusal(hide_notes);
}

TEST_F(NoHeaders, CtfFrameNeedsThem) {
  const auto file = stripped(small_library());
  const std::string message = failure_of([&] { inject(file, folder_ / "converted", 64, ctf_frame_section); });
  EXPECT_NE(message.find("no section headers, and no program header could lead to .ctf_frame"), std::string::npos);
}

TEST_F(NoHeaders, DamagedSearchHeadersAreNamed) {
  const auto refused = [&](std::uint64_t at, const std::string& bytes) {
    return refusal([&](Fields& f) { poke(f, f.segment(PT_GNU_EH_FRAME).p_offset + at, bytes); });
  };
  EXPECT_NE(refused(0, "\2").find("PT_GNU_EH_FRAME+0x0: version is 2, not 1"), std::string::npos);
  EXPECT_NE(
      refused(1, "\x1f").find("PT_GNU_EH_FRAME+0x4: .eh_frame's address has pointer format 0xf, which is undefined"),
      std::string::npos);
  EXPECT_NE(refused(1, "\x9b").find("unknown encoding 0x9b"), std::string::npos);
  EXPECT_NE(refused(4, "\xff\xff\xff\x7f").find("where no PT_LOAD has bytes"), std::string::npos);
  EXPECT_NE(refused(8, "\xff\xff\xff\x7f").find("search table of 2147483647 entries does not fit"), std::string::npos);
  const std::string cut = refusal([](Fields& f) { f.segment(PT_GNU_EH_FRAME).p_filesz = 6; });
  EXPECT_NE(cut.find("PT_GNU_EH_FRAME+0x4: .eh_frame's address needs 4 bytes, but only 2 are left"), std::string::npos);
  const std::string outside = refusal([](Fields& f) { f.segment(PT_GNU_EH_FRAME).p_offset = 1 << 30; });
  EXPECT_NE(outside.find("does not fit in the file"), std::string::npos) << outside;
}

/// .eh_frame of a library without crtend.o, which has the terminator, and with other bytes behind it.
class NoTerminator : public NoHeaders {
 protected:
  EhFramePlace found(const std::string& instead, bool with_table = true) {
    const Image image = Image::open(small_library());
    const Section& section = *image.find_section(".eh_frame");
    expected_ = {section.header.sh_addr, section.header.sh_size};
    const std::uint64_t end = section.header.sh_offset + expected_.size;
    const auto file = stripped(small_library(), [&](Fields& f) {
      for (Elf64_Phdr& load : f.segments)
        if (load.p_type == PT_LOAD && load.p_offset <= section.header.sh_offset &&
            section.header.sh_offset < load.p_offset + load.p_filesz)
          load.p_filesz = load.p_memsz = end + instead.size() - load.p_offset;
      poke(f, end, instead);
      if (!with_table) poke(f, f.segment(PT_GNU_EH_FRAME).p_offset + 2, "\xff");
    });
    return find_eh_frame(Image::open(file)).value();
  }

  void expect_size(const std::string& instead, std::uint64_t more) {
    const EhFramePlace place = found(instead);
    EXPECT_EQ(place.address, expected_.address);
    EXPECT_EQ(place.size, expected_.size + more);
  }

  EhFramePlace expected_{};
};

TEST_F(NoTerminator, FramesEndWithTheSegment) {
  expect_size("", 0);
}

TEST_F(NoTerminator, FramesEndInFrontOfOtherBytes) {
  for (const std::string& other :
       {std::string("\xff\x9b\x11\x01", 4), std::string("\x08\0\0\0\x01\0\0\0abcdefgh\0\0\0\0", 20), std::string("ab"),
        std::string("\xff\xff\xff\xff\0\0\0\0\0\0\0\x70", 12)})
    expect_size(other, 0);
  expect_size(std::string(8, '\0'), 4);
}

// Nothing says where it ends: the check of its records will name the first that is none.
TEST_F(NoTerminator, WithoutATableAllOfTheSegmentIsTaken) {
  const std::uint64_t size = found("\xff\x9b\x11\x01", false).size;
  EXPECT_EQ(size, expected_.size + 4);
}

TEST(UndoTrailer, IsFoundAtTheEndOnly) {
  const std::string record = "SFU\1 and more";
  const auto trailer = undo_trailer(record.size(), sframe_section);
  std::string file = "file" + record + std::string(reinterpret_cast<const char*>(trailer.data()), trailer.size());
  const auto find = [](const std::string& text, const NewSection& section) {
    return find_undo_trailer(std::as_bytes(std::span(text)), section);
  };
  EXPECT_EQ(find(file, sframe_section), (Range{4, file.size()}));
  EXPECT_FALSE(find(file, ctf_frame_section));
  EXPECT_FALSE(find(file + "x", sframe_section));
  EXPECT_FALSE(find(file.substr(5), sframe_section));
  file[4] = 'T';
  EXPECT_FALSE(find(file, sframe_section));
}

/// The check of the output has to see each of these.
class MemoryCheckTest : public NoHeaders {
 protected:
  void SetUp() override {
    input_ = stripped(small_library());
    layout_ = convert(input_);
  }

  std::string violation(const std::function<void(Fields&)>& edit) {
    change(folder_ / "converted", folder_ / "broken", edit);
    return failure_of([&] { check_layout(Image::open(input_), Image::open(folder_ / "broken"), Contents::Affected); });
  }

  std::filesystem::path input_;
  Layout layout_;
};

TEST_F(MemoryCheckTest, SeesChangedBytes) {
  EXPECT_EQ(violation([](Fields&) {}), "");
  const std::string code = violation([](Fields& f) { f.bytes[0x1000] = static_cast<char>(f.bytes[0x1000] ^ 1); });
  EXPECT_NE(code.find("must keep its bytes"), std::string::npos) << code;
  const std::string note = violation([](Fields& f) {
    const std::uint64_t at = f.segment(PT_NOTE).p_offset + 16;
    f.bytes[at] = static_cast<char>(f.bytes[at] ^ 1);
  });
  EXPECT_NE(note.find("must keep its bytes"), std::string::npos) << note;
}

TEST_F(MemoryCheckTest, SeesSectionHeadersThatComeFromNowhere) {
  const std::string offset = violation([](Fields& f) { f.header.e_shoff = 0x100000; });
  EXPECT_NE(offset.find("the ELF header must name no section headers"), std::string::npos) << offset;
  const std::string with =
      failure_of([&] { check_layout(Image::open(input_), Image::open(small_library()), Contents::Affected); });
  EXPECT_NE(with, "");
}

TEST_F(MemoryCheckTest, SeesChangedDynamicEntries) {
  const std::string entry = violation([](Fields& f) {
    const std::uint64_t at = f.segment(PT_DYNAMIC).p_offset + offsetof(Elf64_Dyn, d_un);
    f.bytes[at] = static_cast<char>(f.bytes[at] ^ 8);
  });
  EXPECT_NE(entry, "");
}

TEST_F(MemoryCheckTest, SeesWhatComesToLieOverSomethingElse) {
  const std::string over = violation([](Fields& f) {
    // The section's program header, moved down onto .eh_frame.
    Elf64_Phdr& segment = f.segment(segment_type_gnu_sframe);
    segment.p_offset -= 64;
    segment.p_vaddr -= 64;
  });
  EXPECT_NE(over.find("must not overlap"), std::string::npos) << over;
}

}  // namespace
}  // namespace sframe_gen::elf::test
