// __dso_handle, by whose address a library is told from others, at the first section: so mold has it where crtbegin.o
// does not define it.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

std::string value_of_mark(const std::filesystem::path& file) {
  return run("nm " + file.string() + " | sed -n 's/ . __dso_handle$//p'").output;
}

TEST(LibraryMark, KeepsNothingFromMovingAndStaysItself) {
  const Folder folder;
  write_text(folder / "a.c",
             "extern char __dso_handle __attribute__((visibility(\"hidden\")));\n"
             "int f(int i) { return i * 3; }\nvoid* mark(void) { return &__dso_handle; }\n");
  const auto library = folder / "library";
  const Outcome linked = run("gcc -O1 -fPIC -shared -nostdlib -fuse-ld=mold -Wl,--build-id -o " + library.string() +
                             " " + (folder / "a.c").string());
  ASSERT_EQ(linked.status, 0) << linked.output;
  const Section note = *Image::open(library).find_section(".note.gnu.build-id");
  ASSERT_EQ(std::stoull("0" + value_of_mark(library), nullptr, 16), note.header.sh_addr);

  inject(library, folder / "output", 0x2345);
  EXPECT_NE(Image::open(folder / "output").find_section(".note.gnu.build-id")->header.sh_addr, note.header.sh_addr);
  EXPECT_EQ(value_of_mark(folder / "output"), value_of_mark(library));

  void* const loaded = ::dlopen((folder / "output").c_str(), RTLD_NOW);
  ASSERT_NE(loaded, nullptr) << ::dlerror();
  const auto mark = reinterpret_cast<void* (*)()>(::dlsym(loaded, "mark"));
  ASSERT_NE(mark, nullptr);
  Dl_info info{};
  EXPECT_NE(::dladdr(mark(), &info), 0);
  EXPECT_EQ(static_cast<const char*>(mark()) - static_cast<const char*>(info.dli_fbase),
            static_cast<std::ptrdiff_t>(note.header.sh_addr));
  ::dlclose(loaded);
}

}  // namespace
}  // namespace sframe_gen::elf::test
