// Files in the other byte order than this machine's.

#include <gtest/gtest.h>

#include "elf/dynamic_table.hpp"
#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

/// Debian has no C library for it, so the program makes its own system call. It exits with 0 when its data, its .bss
/// and the bytes behind its PT_GNU_SFRAME are right; its only argument is one character for each 64 of them.
constexpr const char* big_endian_program = R"(
#include <elf.h>
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
__attribute__((visibility("hidden"))) int data = 0x12345678;
__attribute__((visibility("hidden"))) int space[5000];
static int look(unsigned long size) {
  const Elf64_Ehdr *header = (const void *)__ehdr_start;
  const Elf64_Phdr *p = (const void *)(__ehdr_start + header->e_phoff);
  int found = 0;
  if (*(const volatile char *)&data != 0x12 || data != 0x12345678) return 2;
  for (int i = 0; i < 5000; ++i) if (space[i] != 0) return 3;
  space[4999] = 1;
  for (int i = 0; i < header->e_phnum; ++i) {
    if (p[i].p_type != 0x6474e554) continue;
    const char *base = header->e_type == ET_EXEC ? 0 : __ehdr_start;
    const unsigned char *bytes = (const void *)(base + p[i].p_vaddr);
    ++found;
    if (p[i].p_memsz != size) return 4;
    for (unsigned long k = 0; k < size; ++k) if (bytes[k] != ((k * 7 + 1) & 0xff)) return 5;
  }
  return found == (size != 0) ? 0 : 6;
}
__attribute__((used)) void enter(long *stack) {
  unsigned long length = 0;
  if (stack[0] > 1) while (((const char *)stack[2])[length] != 0) ++length;
  register long code __asm__("x0") = look(64 * length);
  register long number __asm__("x8") = 93;
  __asm__ volatile("svc 0" : : "r"(code), "r"(number));
}
__asm__(".globl _start\n_start: mov x0, sp\n b enter\n");
)";

TEST(BigEndian, AArch64ProgramsRun) {
  const Folder folder;
  write_text(folder / "a.c", big_endian_program);
  for (const std::string kind : {"-static -no-pie -Wl,-z,separate-code", "-static-pie -fPIE -Wl,-z,separate-code",
                                 "-static -no-pie -Wl,-Ttext=0x401000"}) {
    SCOPED_TRACE(kind);
    const auto file = folder / "a";
    const Outcome linked = run("aarch64-linux-gnu-gcc -mbig-endian -O1 -g -nostdlib -ffreestanding -fno-builtin " +
                               kind + " -o " + file.string() + " " + (folder / "a.c").string());
    ASSERT_EQ(linked.status, 0) << linked.output;
    ASSERT_EQ(run("qemu-aarch64_be " + file.string()).status, 0);
    for (const std::size_t characters : {std::size_t{1}, std::size_t{1000}}) {
      inject(file, folder / "output", 64 * characters);
      for (const char* tool : {"true", "aarch64-linux-gnu-strip", "aarch64-linux-gnu-objcopy", "eu-strip"}) {
        const auto copy = folder / "copy";
        std::filesystem::copy_file(folder / "output", copy, std::filesystem::copy_options::overwrite_existing);
        EXPECT_EQ(run(tool + (" " + copy.string())).output, "");
        EXPECT_EQ(run("qemu-aarch64_be " + copy.string() + " " + std::string(characters, 'x')).status, 0)
            << tool << ", " << characters;
      }
    }
  }
}

/// What another reader says of a file's symbols and dynamic table.
std::string read_by(const std::string& tool, const std::filesystem::path& file) {
  const Outcome outcome = run(tool + " " + file.string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  return outcome.output;
}

class BigEndianLibrary : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  void SetUp() override {
    write_text(folder_ / "a.c",
               "int data = 3; static int space[64]; __thread int local = 4; extern int other(void);\n"
               "int *pointer = &data; static int hidden(int i) { return space[i & 63] += data; }\n"
               "int f(int i) { return hidden(i) + local + other(); }\n");
    const auto& [triple, options] = GetParam();
    tools_ = triple + std::string("-");
    const Outcome linked = run(tools_ + "gcc " + options + " -O1 -g -shared -fPIC -nostdlib -Wl,--hash-style=both -o " +
                               (folder_ / "lib.so").string() + " " + (folder_ / "a.c").string());
    ASSERT_EQ(linked.status, 0) << linked.output;
  }

  Folder folder_;
  std::string tools_;
};

TEST_P(BigEndianLibrary, KeepsItsSymbols) {
  for (const std::size_t size : {std::size_t{64}, std::size_t{0x12345}}) {
    inject(folder_ / "lib.so", folder_ / "output", size);
    for (const char* options : {"nm -n", "nm -nD", "readelf -rW", "readelf -x .data"})
      EXPECT_EQ(read_by(tools_ + options, folder_ / "lib.so"), read_by(tools_ + options, folder_ / "output"));
    EXPECT_EQ(read_by(tools_ + "readelf -aW", folder_ / "output").find("Warning"), std::string::npos);
  }
}

TEST_P(BigEndianLibrary, PointersOfTheDynamicTableFollow) {
  const Layout layout = inject(folder_ / "lib.so", folder_ / "output", 0x12345);
  EXPECT_EQ(layout.table_plan, TablePlan::DynamicTables);
  ASSERT_FALSE(layout.changed_numbers.empty());
  const std::string dynamic = read_by(tools_ + "readelf -dW", folder_ / "output");
  const Image image = Image::open(folder_ / "output");
  for (const std::string& name : layout.moved_sections) {
    const Section* const section = image.find_section(name);
    ASSERT_NE(section, nullptr) << name;
    std::array<char, 32> address{};
    std::snprintf(address.data(), address.size(), "0x%llx\n", static_cast<unsigned long long>(section->header.sh_addr));
    EXPECT_TRUE(section->header.sh_type == SHT_NOTE || dynamic.find(address.data()) != std::string::npos)
        << name << address.data() << dynamic;
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, BigEndianLibrary,
                         testing::Values(std::pair{"aarch64-linux-gnu", "-mbig-endian"},
                                         std::pair{"s390x-linux-gnu", ""}),
                         [](const auto& parameter) { return std::string(parameter.param.first).substr(0, 5); });

TEST(BigEndian, SysvHashOfS390xHasEntriesOfEightBytes) {
  const Folder folder;
  write_text(folder / "a.c", "int f(int i) { return i; }\n");
  ASSERT_EQ(run("s390x-linux-gnu-gcc -shared -fPIC -nostdlib -Wl,--hash-style=sysv -o " + (folder / "a").string() +
                " " + (folder / "a.c").string())
                .status,
            0);
  inject(folder / "a", folder / "output", 0x12345);
  const Image image = Image::open(folder / "output");
  const Section* const hash = image.find_section(".hash");
  ASSERT_NE(hash, nullptr);
  EXPECT_EQ(hash->header.sh_entsize, 8U);
  EXPECT_EQ(find_dynamic(read_dynamic(image), DT_HASH), hash->header.sh_addr);
  EXPECT_EQ(read_by("s390x-linux-gnu-readelf -IW", folder / "a"),
            read_by("s390x-linux-gnu-readelf -IW", folder / "output"));
}

}  // namespace
}  // namespace sframe_gen::elf::test
