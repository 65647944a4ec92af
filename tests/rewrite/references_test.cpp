#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "elf/go_file.hpp"
#include "elf/go_table.hpp"
#include "rewrite/plan/movable.hpp"
#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

struct Tools {
  const char* compiler;
  const char* strip;
  /// Between forms, so that none has the page that another has put into a register.
  const char* apart = "";
};

/// The code ends, and is farther away than what counts as near an ADRP.
constexpr const char* apart_aarch64 = "  ret\n  .skip 8192\n";
constexpr Tools amd64{"gcc", "strip"};
constexpr Tools aarch64{"aarch64-linux-gnu-gcc", "aarch64-linux-gnu-strip", apart_aarch64};
constexpr Tools aarch64_be{"aarch64-linux-gnu-gcc -mbig-endian", "aarch64-linux-gnu-strip", apart_aarch64};
// GNU ld packs relative relocations for x86 only.
constexpr Tools aarch64_lld{"clang --target=aarch64-linux-gnu -fuse-ld=lld", "aarch64-linux-gnu-strip", apart_aarch64};
constexpr Tools s390x{"s390x-linux-gnu-gcc", "s390x-linux-gnu-strip"};

/// Assembler text; TARGET stands for the symbol that it addresses.
using Form = std::string;

Form with_target(Form code, const std::string& target) {
  for (std::size_t at = 0; (at = code.find("TARGET", at)) != std::string::npos;) code.replace(at, 6, target);
  return code;
}

/// A note in a section of its own, `.note.gnu.NAME`, with symbols for it and for what it says.
std::string note_of(const std::string& name) {
  return "  .section .note.gnu." + name + ", \"a\", %note\n  .balign 16\n" + name +
         ": .4byte 4, 32, 1\n  .asciz \"FDO\"\n" + name + "_payload: .skip 32, 7\n";
}

bool has_reference_to(const Image& image, const std::string& name) {
  const Section* const note = image.find_section(".note.gnu." + name);
  EXPECT_NE(note, nullptr) << name;
  return note != nullptr &&
         (rewrite::has_direct_reference_to(image, *note) || rewrite::has_relative_relocation_to(image, *note));
}

/// Notes and, as far from them as in real files, constants that are no note; stripped of their names.
class ReferencesOf : public testing::Test {
 protected:
  Image link(const Tools& tools, const std::string& options, const std::string& notes, const Form& code) {
    write_text(folder_ / "a.s", notes +
                                    "  .section .rodata\n  .balign 16\nothers: .skip 48, 7\n"
                                    "  .text\n  .globl _start\n_start:\n" +
                                    code + "\n");
    const std::string file = (folder_ / "a").string();
    const Outcome linked = run(std::string(tools.compiler) + " -nostdlib -Wl,--build-id=none " + options + " -o " +
                               file + " " + (folder_ / "a.s").string() + " && " + tools.strip + " " + file);
    EXPECT_EQ(linked.status, 0) << code << linked.output;
    return Image::open(file);
  }

  bool finds(const Tools& tools, const std::string& options, const Form& code) {
    return has_reference_to(link(tools, options, note_of("own"), code), "own");
  }

  /// Each form addresses a note of its own, and what another says; all are in one file, as a link takes a tenth of a
  /// second. No form knows what the one before it left in a register.
  void expect_found(const Tools& tools, const std::string& options, const std::vector<Form>& forms) {
    std::string notes = note_of("unused"), code, code_of_others;
    const auto add = [&](std::string& text, const Form& form, const std::string& target) {
      text += "\n  .text\n" + std::string(tools.apart) + with_target(form, target);
    };
    const auto name_of = [](const char* kind, std::size_t form) { return kind + std::to_string(form); };
    for (std::size_t i = 0; i < forms.size(); ++i) {
      notes += note_of(name_of("whole", i)) + note_of(name_of("part", i));
      add(code, forms[i], name_of("whole", i));
      add(code, forms[i], name_of("part", i) + "_payload");
      add(code_of_others, forms[i], "others");
    }
    const Image image = link(tools, options, notes, code);
    for (std::size_t i = 0; i < forms.size(); ++i) {
      for (const char* kind : {"whole", "part"})
        EXPECT_TRUE(has_reference_to(image, name_of(kind, i))) << kind << ' ' << options << '\n' << forms[i];
    }
    EXPECT_FALSE(has_reference_to(image, "unused")) << options << '\n' << code;
    EXPECT_FALSE(finds(tools, options, code_of_others)) << options << '\n' << code_of_others;
  }

  Folder folder_;
};

constexpr const char* anywhere = "-pie";
constexpr const char* fixed = "-no-pie -static";

const std::vector<Form> relative_amd64{" lea TARGET(%rip), %rax", " movzbl TARGET(%rip), %eax",
                                       " vmovdqu TARGET(%rip), %ymm1", " cmpl $7, TARGET(%rip)"};
const std::vector<Form> absolute_amd64{" movl $TARGET, %edi",
                                       " pushq $TARGET",
                                       " movl TARGET, %eax",
                                       " movsbl TARGET(%rdi), %eax",
                                       " movl TARGET(,%rdi,4), %eax",
                                       " movzbl TARGET(%rbx,%rdi), %eax",
                                       " movq TARGET(%r12), %rax",
                                       " vmovdqu TARGET(%rax), %ymm1",
                                       " addq $TARGET, %rax",
                                       " addq $TARGET, %rdi",
                                       " .data\n .balign 8\n .8byte TARGET"};

const std::vector<Form> relative_aarch64{
    " adrp x3, TARGET\n add x3, x3, :lo12:TARGET", " adrp x3, TARGET\n add x9, x3, :lo12:TARGET",
    " adrp x3, TARGET\n ldrb w4, [x3, :lo12:TARGET]", " adrp x3, TARGET\n ldr w4, [x3, :lo12:TARGET]",
    " adrp x3, TARGET\n ldr x4, [x3, :lo12:TARGET]", " adrp x3, TARGET\n ldr q4, [x3, :lo12:TARGET]",
    // Scheduled apart, and used in front of its own place by a loop.
    " adrp x3, TARGET\n .rept 60\n nop\n .endr\n ldrh w4, [x3, :lo12:TARGET]",
    " b 2f\n1: add x9, x3, :lo12:TARGET\n ret\n2: adrp x3, TARGET\n b 1b",
    // In a part that was split off, behind a branch, behind a call, and by a table of jumps.
    " b 2f\n1: add x9, x3, :lo12:TARGET\n ret\n .skip 40000\n2: adrp x3, TARGET\n cbz x0, 3f\n mov x3, #1\n ret\n"
    "3: b 1b",
    " adrp x3, TARGET\n tbz x0, #3, 1f\n ret\n1: bl 2f\n ldrb w4, [x3, :lo12:TARGET]\n ret\n2: ret",
    " adrp x3, TARGET\n br x0\n ldr x4, [x3, :lo12:TARGET]",
    " adrp x3, TARGET\n .inst 0xd71f0801  // braa x0, x1\n ldr x4, [x3, :lo12:TARGET]", " adr x3, TARGET",
    " ldr x3, TARGET", " ldr w3, TARGET", " ldrsw x3, TARGET", " ldr q3, TARGET"};
const std::vector<Form> absolute_aarch64{" ldr x3, =TARGET", " .data\n .balign 8\n .8byte TARGET",
                                         " movz x3, #:abs_g0_nc:TARGET\n movk x3, #:abs_g1_nc:TARGET",
                                         " movz x3, #:abs_g1:TARGET\n movk x3, #:abs_g0_nc:TARGET",
                                         " movz x3, #:abs_g3:TARGET\n movk x3, #:abs_g2_nc:TARGET\n movk x3, "
                                         "#:abs_g1_nc:TARGET\n movk x3, #:abs_g0_nc:TARGET"};

const std::vector<Form> relative_s390x{" larl %r1, TARGET",   " lgrl %r1, TARGET",       " lrl %r1, TARGET",
                                       " llgfrl %r1, TARGET", " lghrl %r1, TARGET",      " strl %r1, TARGET",
                                       " exrl %r1, TARGET",   " clgrl %r1, TARGET",      " brasl %r14, TARGET",
                                       " jg TARGET",          " nopr\n larl %r1, TARGET"};
const std::vector<Form> absolute_s390x{" nopr\n .balign 8\n .8byte TARGET", " .data\n .balign 8\n .8byte TARGET"};

TEST_F(ReferencesOf, Amd64Code) {
  expect_found(amd64, anywhere, relative_amd64);
  expect_found(amd64, fixed, relative_amd64);
  expect_found(amd64, fixed, absolute_amd64);
}

TEST_F(ReferencesOf, AArch64Code) {
  expect_found(aarch64, anywhere, relative_aarch64);
  expect_found(aarch64, fixed, relative_aarch64);
  expect_found(aarch64, fixed, absolute_aarch64);
}

// Low bits that would make the address, where the page does not come by or has been replaced.
TEST_F(ReferencesOf, AArch64PagesOfOtherCode) {
  for (const char* other :
       {" adrp x3, own\n ret\n ldr x4, [x3, :lo12:own]", " ldr x4, [x3, :lo12:own]\n adrp x3, own\n ret",
        " adrp x3, own\n ldr x3, [x3, #8]\n ldr x4, [x3, :lo12:own]",
        " adrp x3, own\n add x3, x3, #9\n ldr x4, [x3, :lo12:own]",
        " adrp x3, own\n .inst 0xd65f0bff  // retaa\n ldr x4, [x3, :lo12:own]",
        " adrp x3, own\n b 1f\n ldr x4, [x3, :lo12:own]\n1: ret"})
    EXPECT_FALSE(finds(aarch64, anywhere, other)) << other;
}

// The code near each ADRP is read once more for it, so many of them would take long.
TEST_F(ReferencesOf, AArch64PagesOfVeryManyRegisters) {
  const auto finds_with = [&](const std::string& count) {
    return finds(aarch64, anywhere, " .rept " + count + "\n adrp x3, own\n br x0\n .endr");
  };
  EXPECT_FALSE(finds_with("1000"));
  EXPECT_TRUE(finds_with("10000"));
}

// Code is little-endian here too, literals and data are not.
TEST_F(ReferencesOf, BigEndianAArch64Code) {
  expect_found(aarch64_be, anywhere, relative_aarch64);
  expect_found(aarch64_be, fixed, absolute_aarch64);
}

TEST_F(ReferencesOf, S390xCode) {
  expect_found(s390x, anywhere, relative_s390x);
  expect_found(s390x, fixed, relative_s390x);
  expect_found(s390x, fixed, absolute_s390x);
}

TEST_F(ReferencesOf, RelocatedPointers) {
  const std::vector<Form> pointer{" nop\n .data\n .balign 8\n .8byte TARGET"};
  for (const Tools& tools : {amd64, aarch64, aarch64_be, s390x}) expect_found(tools, anywhere, pointer);
  expect_found(amd64, "-pie -Wl,-z,pack-relative-relocs", pointer);
  expect_found(aarch64_lld, "-pie -Wl,--pack-dyn-relocs=relr", pointer);
}

// What compilers make of C, where the section's name gives no symbol away.
TEST_F(ReferencesOf, CompiledCode) {
  write_text(folder_ / "a.c",
             "static const struct { unsigned sizes[2], type; char owner[4], text[8]; } note __attribute__((section("
             "\".note.gnu.own\"), used, aligned(4))) = {{4, 8}, 1, \"FDO\", \"{1}\"};\n"
             "static const struct { unsigned sizes[2], type; char owner[4], text[8]; } other __attribute__((section("
             "\".note.gnu.two\"), used, aligned(4))) = {{4, 8}, 1, \"FDO\", \"{1}\"};\n"
             "int _start(int i) { return note.text[i] + note.type + (int)note.sizes[1]; }\n");
  for (const Tools& tools : {amd64, aarch64, aarch64_be, s390x}) {
    for (const std::string options : {"-O0", "-O2", "-Os"}) {
      for (const std::string kind : {"-fPIE -pie", "-fPIC -shared", "-fno-pie -no-pie -static"}) {
        const std::string file = (folder_ / "a").string();
        const Outcome linked = run(std::string(tools.compiler) + " -nostdlib " + options + " " + kind + " -o " + file +
                                   " " + (folder_ / "a.c").string() + " && " + tools.strip + " " + file);
        ASSERT_EQ(linked.status, 0) << linked.output;
        const Image image = Image::open(file);
        EXPECT_TRUE(has_direct_reference_to(image, *image.find_section(".note.gnu.own"))) << options << kind;
        EXPECT_FALSE(has_direct_reference_to(image, *image.find_section(".note.gnu.two"))) << options << kind;
      }
    }
  }
}

TEST_F(ReferencesOf, MappingSymbolsAreNoNames) {
  write_text(
      folder_ / "a.s",
      "  .section .note.gnu.own, \"a\", %note\n .p2align 2\n.word 4, 4, 1\n .asciz \"FDO\"\n .word 1\n .text\n nop\n");
  const auto link = [&](const std::string& more) {
    EXPECT_EQ(run("aarch64-linux-gnu-gcc -shared -nostdlib " + more + " -o " + (folder_ / "a").string() + " " +
                  (folder_ / "a.s").string())
                  .status,
              0);
    return Image::open(folder_ / "a");
  };
  const Image image = link("");
  ASSERT_NE(run("aarch64-linux-gnu-readelf -sW " + (folder_ / "a").string()).output.find(" $d"), std::string::npos);
  EXPECT_FALSE(has_named_symbol_in(image, *image.find_section(".note.gnu.own")));
  write_text(folder_ / "a.s", read_text(folder_ / "a.s") + " .section .note.gnu.own\nname: .4byte 4\n");
  const Image named = link("");
  EXPECT_TRUE(has_named_symbol_in(named, *named.find_section(".note.gnu.own")));
}

/// A program at fixed addresses of Go and C, with a note at 0x400800. What looks like an address in the note is none in
/// what Go's linker and compiler have written.
class ReferencesInGo : public testing::Test {
 protected:
  struct Parts {
    std::string note = ".note.go.buildid";
    std::string owner = "Go";
    std::vector<std::uint8_t> go_code{0xc3};
    std::string more{};  ///< assembler text
    bool has_module = true;
  };

  bool finds(const Parts& parts) {
    const GoFile go({{parts.go_code, {{0, static_cast<unsigned>(parts.go_code.size())}}}});
    constexpr std::size_t code_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);
    const auto part = [&](const std::string& name, std::size_t offset, std::size_t size) {
      std::ofstream(folder_ / name, std::ios::binary)
          .write(reinterpret_cast<const char*>(go.bytes.data()) + offset, static_cast<std::streamsize>(size));
      return " .incbin \"" + (folder_ / name).string() + "\"\n";
    };
    write_text(folder_ / "a.s",
               " .section " + parts.note + ", \"a\", %note\n .4byte " + std::to_string(parts.owner.size() + 1) +
                   ", 16, 4\n .asciz \"" + parts.owner + "\"\n .balign 4\n .skip 16, 7\n .section .gotext, \"ax\"\n" +
                   part("code", code_offset, go.table_offset - code_offset) + " .section .gopclntab, \"a\"\n" +
                   part("table", go.table_offset, go.table_size()) + " .section .module, \"aw\"\n" +
                   (parts.has_module ? part("module", go.module_offset, go.module_size()) : " .8byte 0\n") +
                   " .text\n .globl _start\n_start: ret\n" + parts.more + "\n");
    const std::string file = (folder_ / "a").string();
    std::string command = "gcc -nostdlib -no-pie -static -s -Wl,--build-id=none -o " + file;
    for (const std::string& place :
         {parts.note + "=0x400800", std::string(".gotext=0x401000"), std::string(".text=0x402000"),
          std::string(".gopclntab=0x500000"), std::string(".module=0x600000")})
      command += " -Wl,--section-start=" + place;
    const Outcome linked = run(command + ' ' + (folder_ / "a.s").string());
    EXPECT_EQ(linked.status, 0) << linked.output;
    const Image image = Image::open(file);
    EXPECT_EQ(GoTable::find(image).has_value(), parts.has_module);
    const Section* const note = image.find_section(parts.note);
    EXPECT_NE(note, nullptr);
    return note != nullptr && rewrite::has_direct_reference_to(image, *note);
  }

  static constexpr const char* word = " .balign 8\n .8byte 0x400810";
  /// lea 0x400810(%rip), %rax; ret. By its bytes without the first two it would be add $0x400810, %eax.
  const std::vector<std::uint8_t> far_lea{0x48, 0x8d, 0x05, 0x10, 0x08, 0x40, 0x00, 0xc3};

  Folder folder_;
};

TEST_F(ReferencesInGo, AreNotInTablesOfGo) {
  for (const std::string table : {".gopclntab", ".go.type", ".go.func"})
    EXPECT_FALSE(finds({.more = " .section " + table + ", \"a\"\n" + word})) << table;
}

TEST_F(ReferencesInGo, AreInOtherData) {
  for (const std::string section : {".rodata, \"a\"", ".data, \"aw\"", ".go.other, \"a\""})
    EXPECT_TRUE(finds({.more = " .section " + section + "\n" + word})) << section;
}

TEST_F(ReferencesInGo, AreInSectionsThatAreOnlyCalledSo) {
  EXPECT_TRUE(finds({.more = std::string(" .section .go.type, \"a\"\n") + word, .has_module = false}));
}

TEST_F(ReferencesInGo, ToItsBuildIdAreNotInItsCode) {
  EXPECT_FALSE(finds({.go_code = far_lea}));
  EXPECT_TRUE(finds({.more = " movl $0x400810, %edi"})) << "C code";
  EXPECT_TRUE(finds({.go_code = far_lea, .has_module = false}));
}

// Go's code may refer to what C code has defined.
TEST_F(ReferencesInGo, ToOtherNotesMayBeInItsCode) {
  EXPECT_TRUE(finds({.note = ".note.other", .owner = "FDO", .go_code = far_lea}));
  EXPECT_TRUE(finds({.owner = "FDO", .go_code = far_lea})) << "only its name is Go's";
}

}  // namespace
}  // namespace sframe_gen::elf::test
