#include "rewrite/plan/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sframe_gen/convert.hpp"
#include "support/text.hpp"
#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

class LayoutOf : public testing::Test {
 protected:
  /// A program or library of `source`, linked by GNU ld with `options`.
  std::filesystem::path link(const std::string& options, const std::string& source = "int main(void) { return 0; }\n") {
    write_text(folder_ / "source.c", source);
    const Outcome linked = run("gcc -O1 -fuse-ld=bfd " + options + " -o " + (folder_ / "linked").string() + " " +
                               (folder_ / "source.c").string());
    EXPECT_EQ(linked.status, 0) << linked.output;
    return folder_ / "linked";
  }

  rewrite::Layout inject_into(const std::filesystem::path& file, std::size_t size) {
    return inject(file, folder_ / "output", size);
  }

  /// The program may be changed only where `note` can stay.
  void expect_refused_or_sound(const std::filesystem::path& file, const std::string& note) {
    const std::string failure = failure_of([&] { inject_into(file, fits_no_gap); });
    if (failure.empty()) {
      EXPECT_EQ(run((folder_ / "output").string()).status, 0);
    } else {
      EXPECT_NE(failure.find("section " + note + " at 0x"), std::string::npos) << failure;
      EXPECT_NE(failure.find("a symbol, a relocation or code points into it"), std::string::npos) << failure;
    }
  }

  Image output() const { return Image::open(folder_ / "output"); }

  Folder folder_;
};

void expect_plan(const rewrite::Layout& layout, const std::string& section, const std::string& table) {
  EXPECT_EQ(name_of(layout.section_plan), section);
  EXPECT_EQ(name_of(layout.table_plan), table);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST_F(LayoutOf, PrefersTheGapBehindEhFrame) {
  const auto file = link("-pie -Wl,--build-id");
  const rewrite::Layout layout = inject_into(file, fits_a_gap);
  expect_plan(layout, "S1", "T1");
  const Image image = output();
  EXPECT_EQ(image.segments().size(), Image::open(file).segments().size() + 1);
  const Section* sframe = image.find_section(".sframe");
  ASSERT_NE(sframe, nullptr);
  EXPECT_EQ(image.sections()[sframe->index - 1].name, ".eh_frame");
  EXPECT_EQ(layout.section_address, sframe->header.sh_addr);
  const std::uint64_t record = image.find_section(".sframe_undo")->header.sh_size;
  EXPECT_EQ(layout.growth, static_cast<std::int64_t>(image.file_bytes().size() - record) -
                               static_cast<std::int64_t>(Image::open(file).file_bytes().size()));
}

TEST_F(LayoutOf, BuildIdStaysInTheFirstPageWhereOthersMakeRoom) {
  const auto file = link("-pie -Wl,--build-id");
  const rewrite::Layout layout = inject_into(file, fits_a_gap);
  EXPECT_TRUE(contains(layout.moved_sections, ".interp"));
  EXPECT_FALSE(contains(layout.moved_sections, ".note.gnu.build-id"));
  EXPECT_FALSE(layout.build_id_left_first_page);
}

TEST_F(LayoutOf, AddsASegmentWhereNoGapIsLargeEnough) {
  const auto file = link("-pie");
  const rewrite::Layout layout = inject_into(file, fits_no_gap);
  expect_plan(layout, "S2", "T1");
  const Image image = output();
  const Elf64_Phdr* last = nullptr;
  for (const Elf64_Phdr& segment : image.segments())
    if (segment.p_type == PT_LOAD) last = &segment;
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->p_flags, static_cast<std::uint32_t>(PF_R));
  EXPECT_EQ(last->p_vaddr, layout.section_address);
  // In front of the sections that are not loaded.
  EXPECT_LT(layout.section_offset, image.find_section(".symtab")->header.sh_offset);
  // elflint takes a segment that begins at .bss's place in the file for .bss's own.
  EXPECT_GT(layout.section_offset, image.find_section(".bss")->header.sh_offset);
}

TEST_F(LayoutOf, UsesUnusedProgramHeaders) {
  change(small_library(), folder_ / "null", [](Fields& f) {
    f.segment(PT_GNU_STACK).p_type = PT_NULL;
    f.segment(PT_GNU_RELRO).p_type = PT_NULL;
  });
  for (const std::size_t size : {fits_a_gap, fits_no_gap}) {
    const rewrite::Layout layout = inject_into(folder_ / "null", size);
    EXPECT_EQ(name_of(layout.table_plan), "T0");
    EXPECT_EQ(layout.segments.size(), Image::open(folder_ / "null").segments().size());
  }
}

TEST_F(LayoutOf, MovesTablesOfTheDynamicLinkerLast) {
  const auto file = link("-shared -fPIC -Wl,--hash-style=both", "int f(void) { return 1; }\n");
  const rewrite::Layout layout = inject_into(file, fits_no_gap);
  expect_plan(layout, "S2", "T2");
  EXPECT_FALSE(layout.changed_numbers.empty());
  EXPECT_FALSE(layout.build_id_left_first_page);
  EXPECT_EQ(
      run("eu-elflint --gnu-ld " + (folder_ / "output").string() + " | grep -v -e 0x6474e554 -e unsupported").output,
      "");
}

TEST_F(LayoutOf, ManyFunctionsStillHaveTheirSymbols) {
  const auto file = link("-shared -fPIC", "int f(void) { return 1; }\nint g(void) { return f(); }\n");
  inject_into(file, fits_no_gap);
  EXPECT_EQ(run("nm " + file.string()).output, run("nm " + (folder_ / "output").string()).output);
}

TEST_F(LayoutOf, SymbolsMoveWithTheirSection) {
  const auto file = link("-pie");
  const rewrite::Layout layout = inject_into(file, fits_no_gap);
  ASSERT_TRUE(contains(layout.moved_sections, ".note.ABI-tag"));
  const std::string address = hex(output().find_section(".note.ABI-tag")->header.sh_addr).substr(2);
  EXPECT_NE(run("nm " + (folder_ / "output").string() + " | grep __abi_tag").output.find(address), std::string::npos);
}

// The notes of a static program make room for one more program header only, but one is there twice.
TEST_F(LayoutOf, StaticProgramsGiveARedundantNoteAway) {
  const auto file = link("-static");
  const auto notes = [](const Image& image) {
    return std::count_if(image.segments().begin(), image.segments().end(),
                         [](const Elf64_Phdr& s) { return s.p_type == PT_NOTE; });
  };
  expect_plan(inject_into(file, fits_no_gap), "S2", "T1");
  EXPECT_EQ(notes(output()), notes(Image::open(file)) - 1);
  EXPECT_NE(output().find_segment(PT_GNU_PROPERTY), nullptr);
  for (const std::string tool : {"true", "strip", "objcopy"})
    EXPECT_EQ(run("cd " + folder_.path().string() + " && " + tool + " output && ./output").status, 0) << tool;
}

TEST_F(LayoutOf, StaticProgramsKeepTheirRelocations) {
  const auto linked = link("-static");
  const auto file = folder_ / "no_property";
  change(linked, file, [](Fields& f) { f.segment(PT_GNU_PROPERTY).p_type = PT_NOTE; });
  expect_plan(inject_into(file, fits_no_gap), "S3", "T3");
  EXPECT_EQ(output().find_section(".rela.plt")->header.sh_addr,
            Image::open(file).find_section(".rela.plt")->header.sh_addr);
  EXPECT_EQ(run((folder_ / "output").string()).status, 0);
}

TEST_F(LayoutOf, NotesOfUnknownOwnersStay) {
  const auto file =
      link("-static-pie -nostdlib -nostartfiles -Wl,--build-id=none",
           "__asm__(\".section .note.own, \\\"a\\\", @note\\n.long 4, 4, 1\\n.string \\\"Own\\\"\\n.long 1\\n\");\n"
           "void _start(void) {}\n");
  EXPECT_NE(failure_of([&] { inject_into(file, fits_no_gap); }).find("its owner \"Own\" may depend on its place"),
            std::string::npos);
}

TEST_F(LayoutOf, NotesThatCodeRefersToStay) {
  const auto file = link("-pie -Wl,--build-id=none -Wl,-z,noseparate-code",
                         "__asm__(\".section .note.own, \\\"a\\\", @note\\n.globl own\\nown: .long 4, 4, 1\\n.string "
                         "\\\"GNU\\\"\\n.long 1\\n\");\n"
                         "extern int own; int main(void) { return own - 4; }\n");
  expect_refused_or_sound(file, ".note.own");
}

// A note of C code has a local symbol at most, and stripping takes that away: what points at it are code, packed
// relocations and, at fixed addresses, data.
TEST_F(LayoutOf, NotesThatStrippedProgramsReferToStay) {
  const std::string note =
      "static const struct { unsigned sizes[2], type; char owner[4], text[8]; } note __attribute__((section("
      "\".note.gnu.own\"), used, aligned(4))) = {{4, 8}, 0xcafe1a7e, \"FDO\", \"{1}\"};\n";
  const std::string by_code =
      note + "int main(void) { const char *p = note.text; __asm__(\"\" : \"+r\"(p)); return p[1] - '1'; }\n";
  const std::string by_pointer = note + "const char *volatile p[70] = {[1] = note.text, [65] = note.text};\n" +
                                 "int main(void) { return p[1][1] - '1' + p[65][1] - '1'; }\n";
  for (const std::string& source : {by_code, by_pointer}) {
    for (const std::string options : {"-static", "-static-pie", "-fPIE -pie -Wl,-z,pack-relative-relocs", "-no-pie"}) {
      const auto file = link("-s " + options + " -Wl,--build-id=none", source);
      ASSERT_EQ(run(file.string()).status, 0) << options;
      expect_refused_or_sound(file, ".note.gnu.own");
    }
  }
}

TEST_F(LayoutOf, LargePagesDoNotBlowUpTheFile) {
  const auto file = link("-no-pie -Wl,-z,max-page-size=0x200000,-z,noseparate-code");
  const rewrite::Layout layout = inject_into(file, fits_no_gap);
  EXPECT_LT(layout.growth, 0x10000);
  EXPECT_EQ(run((folder_ / "output").string()).status, 0);
  for (const Elf64_Phdr& segment : layout.segments) {
    const bool agrees = (segment.p_vaddr - segment.p_offset) % 0x200000 == 0;
    EXPECT_TRUE(agrees || segment.p_type != PT_LOAD);
  }
}

// patchelf fills the place of what it moved with X, in every wheel of Python with libraries of its own.
TEST_F(LayoutOf, FillerOfPatchelfIsRoom) {
  const auto file = link("-shared -fPIC -nostdlib -Wl,--build-id");
  change(file, folder_ / "patched", [](Fields& f) {
    const std::size_t end = sizeof(Elf64_Ehdr) + f.segments.size() * sizeof(Elf64_Phdr);
    for (Elf64_Phdr& s : f.segments) s.p_type = s.p_type == PT_NOTE || s.p_type == PT_GNU_PROPERTY ? PT_NULL : s.p_type;
    for (std::size_t i = 0; i < f.segments.size(); ++i)
      if (f.segments[i].p_type == PT_NULL) f.segments.erase(f.segments.begin() + static_cast<std::ptrdiff_t>(i--));
    f.header.e_phnum = static_cast<std::uint16_t>(f.segments.size());
    for (Elf64_Shdr& s : f.sections) {
      if (s.sh_type != SHT_NOTE) continue;
      f.bytes.replace(s.sh_offset, s.sh_size, s.sh_size, 'X');
      s = {s.sh_name, SHT_NOBITS, 0, 0, 0, 0, 0, 0, 1, 0};
    }
    const std::size_t begin = sizeof(Elf64_Ehdr) + f.segments.size() * sizeof(Elf64_Phdr);
    f.bytes.replace(begin, end - begin, end - begin, 'X');
  });
  expect_plan(inject_into(folder_ / "patched", fits_a_gap), "S1", "T0");
}

// LLD 17 and later give PT_GNU_RELRO a file size that counts .relro_padding, which is in no file.
TEST_F(LayoutOf, PaddingOfRelroIsNoObstacle) {
  const auto file = link("-pie -Wl,-z,relro");
  for (const std::uint64_t beyond : {std::uint64_t{0x800}, std::uint64_t{0x100000}}) {
    change(file, folder_ / "padded", [&](Fields& f) { f.segment(PT_GNU_RELRO).p_filesz += beyond; });
    expect_plan(inject_into(folder_ / "padded", fits_no_gap), "S2", "T1");
    EXPECT_EQ(run((folder_ / "output").string()).status, 0);
  }
}

// LLVM's tools take the first of two segments at one file offset for the outer one, and PT_INTERP precedes the
// PT_LOADs.
TEST_F(LayoutOf, WhatMovesAboveAllElseSurvivesTheTools) {
  change(link("-pie -Wl,-z,separate-code,--build-id"), folder_ / "full", [](Fields& f) {
    Elf64_Phdr& first = f.segment(PT_LOAD);
    first.p_filesz = first.p_memsz = align_up(first.p_filesz, 4096) - 8;
  });
  inject_into(folder_ / "full", fits_no_gap);
  const Image image = output();
  ASSERT_GT(image.find_segment(PT_INTERP)->p_vaddr, image.find_section(".bss")->header.sh_addr);
  for (const std::string tool :
       {"true", "strip", "objcopy", "eu-strip", "llvm-strip", "llvm-objcopy", "patchelf --set-rpath /x"}) {
    run("cp " + (folder_ / "output").string() + " " + (folder_ / "copy").string());
    EXPECT_EQ(run(tool + " " + (folder_ / "copy").string()).status, 0) << tool;
    EXPECT_EQ(run((folder_ / "copy").string()).status, 0) << tool;
  }
}

TEST_F(LayoutOf, ImpossibleSizesAreRefused) {
  EXPECT_THROW(plan_layout(Image::open(small_library()), 0), Refused);
  EXPECT_THROW(plan_layout(Image::open(small_library()), std::uint64_t{1} << 40), Refused);
}

TEST_F(LayoutOf, SectionHeadersInFrontOfTheCodeAreNoObstacle) {
  // Go writes its section header table right behind the program headers.
  const auto file = link(
      "-static -nostdlib -nostartfiles -Wl,--build-id=none,-z,noseparate-code,-Ttext-segment=0x400000,-Ttext=0x401000",
      "void _start(void) { __asm__ volatile(\"mov $60, %eax; xor %edi, %edi; syscall\"); }\n");
  const auto moved = folder_ / "moved";
  change(file, moved, [](Fields& f) {
    const std::uint64_t behind = f.header.e_phoff + f.segments.size() * sizeof(Elf64_Phdr);
    std::string table(f.sections.size() * sizeof(Elf64_Shdr), '\0');
    for (std::size_t i = 0; i < f.sections.size(); ++i)
      store_section(std::as_writable_bytes(std::span(table)).subspan(i * sizeof(Elf64_Shdr)), f.sections[i],
                    Endian::Little);
    f.bytes.replace(behind, table.size(), table);
    f.bytes.resize(f.header.e_shoff);
    f.header.e_shoff = behind;
    f.sections.clear();
    f.segment(PT_LOAD).p_filesz = std::max<std::uint64_t>(f.segment(PT_LOAD).p_filesz, behind + table.size());
    f.segment(PT_LOAD).p_memsz = f.segment(PT_LOAD).p_filesz;
  });
  const rewrite::Layout layout = inject_into(moved, fits_no_gap);
  EXPECT_EQ(name_of(layout.table_plan), "T0");
  EXPECT_EQ(run((folder_ / "output").string()).status, 0);
}

}  // namespace
}  // namespace sframe_gen::elf::test
