#include "elf/object/preconditions.hpp"

#include <gtest/gtest.h>

#include "elf/object/toolbox.hpp"

namespace sframe_gen::elf::object::test {
namespace {

std::string refusal_of(const Bytes& bytes, bool drop_signature = false) {
  return failure_of([&] { check_preconditions(open(bytes), drop_signature); });
}

Bytes compile(const std::string& options) {
  const Folder folder;
  elf::test::write_text(folder / "a.c", "int f(void) { return 1; }\n");
  const auto done =
      elf::test::run("gcc " + options + " -c -o " + (folder / "a.o").string() + " " + (folder / "a.c").string());
  if (done.status != 0) throw std::runtime_error(done.output);
  return bytes_of_file(folder / "a.o");
}

TEST(ObjectPreconditions, AcceptOrdinaryObjects) {
  EXPECT_EQ(refusal_of(assemble(two_functions)), "");
}

TEST(ObjectPreconditions, RefuseIntermediateCodeAlone) {
  EXPECT_EQ(refusal_of(compile("-flto -ffat-lto-objects")), "");
  EXPECT_EQ(refusal_of(compile("-flto -fno-fat-lto-objects")),
            "a.o: intermediate code of a compiler (LTO) without machine code that CFI describes; "
            "convert what it is linked into");
}

void append(Bytes& bytes, std::string_view text) {
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
}

TEST(ObjectPreconditions, RefuseSignaturesUnlessToldToDropThem) {
  using namespace std::string_view_literals;
  Bytes bytes = assemble(two_functions);
  // struct module_signature: PKCS#7, 9 bytes.
  append(bytes, "signature\0\0\2\0\0\0\0\0\0\0\0\x09~Module signature appended~\n"sv);
  EXPECT_EQ(refusal_of(bytes),
            "a.o: signed kernel module, and a change would break the signature (--drop-signature removes it)");
  EXPECT_EQ(refusal_of(bytes, true), "");
}

TEST(ObjectPreconditions, DropNothingButASignature) {
  Bytes bytes = assemble(two_functions);
  append(bytes, "payload of somebody, and no signature~Module signature appended~\n");
  EXPECT_EQ(refusal_of(bytes, true),
            "a.o: ends as a signed kernel module does, but without a signature that the kernel would take");
}

TEST(ObjectPreconditions, RefuseWhatIsAppended) {
  Bytes bytes = assemble(two_functions);
  bytes.resize(bytes.size() + 8);
  EXPECT_EQ(refusal_of(bytes), "");
  bytes.push_back(std::byte{1});
  EXPECT_NE(refusal_of(bytes).find("bytes appended at"), std::string::npos);
  EXPECT_NE(refusal_of(bytes, true).find("bytes appended at"), std::string::npos);
}

TEST(ObjectPreconditions, RefuseNamesOutsideTheirTable) {
  const Bytes good = assemble(two_functions);
  const std::uint64_t size = open(good).find_section(".strtab")->header.sh_size;
  Bytes bytes = good;
  set_header<Elf64_Xword>(bytes, ".strtab", &Elf64_Shdr::sh_size, 1);
  EXPECT_EQ(refusal_of(bytes), "a.o: .symtab+0x48: the symbol's name at 0x1 is not in its table, which has 1 byte");
  set_header<Elf64_Xword>(bytes, ".strtab", &Elf64_Shdr::sh_size, size);
  EXPECT_EQ(refusal_of(bytes), "");
}

TEST(ObjectPreconditions, RefuseSectionsThatShareBytes) {
  const Bytes good = assemble(two_functions + ".data\n.zero 8192\n.section .more,\"aw\"\n.zero 8192\n");
  const auto refusal_with_offset = [&](std::uint64_t offset) {
    Bytes bytes = good;
    // Placed again at its alignment, it would fill the disk.
    set_header<Elf64_Xword>(bytes, ".more", &Elf64_Shdr::sh_addralign, std::uint64_t{1} << 40);
    set_header<Elf64_Off>(bytes, ".more", &Elf64_Shdr::sh_offset, offset);
    return refusal_of(bytes);
  };
  const Image image = open(good);
  const std::string refusal = "a.o: sections that share bytes";
  EXPECT_EQ(refusal_with_offset(image.find_section(".data")->header.sh_offset + 8191), refusal);
  EXPECT_EQ(refusal_with_offset(0), refusal);  // with the ELF header
  EXPECT_EQ(refusal_with_offset(image.header().e_shoff - 8191), refusal);
  EXPECT_EQ(refusal_with_offset(image.find_section(".more")->header.sh_offset), "");
}

TEST(ObjectPreconditions, RefuseOtherMachines) {
  Bytes bytes = assemble(two_functions);
  bytes[offsetof(Elf64_Ehdr, e_machine)] = std::byte{EM_RISCV};
  EXPECT_EQ(refusal_of(bytes), "a.o: architecture is EM_RISCV (243), but SFrame has no ABI for it");
}

}  // namespace
}  // namespace sframe_gen::elf::object::test
