#include "cli/help.hpp"

#include <algorithm>
#include <sstream>

#include "cli/given_options.hpp"
#include "sframe_gen/format.hpp"

namespace sframe_gen::cli {

namespace {

/// The names --for takes, one line each.
std::string described_readers() {
  std::ostringstream text;
  for (const ReaderTarget& target : reader_targets()) {
    std::string name(target.name);
    name.resize(std::max<std::size_t>(name.size(), 14), ' ');
    text << "  " << name << "  " << target.meaning << '\n';
  }
  return text.str();
}

}  // namespace

std::string help_text() {
  return "Usage: sframe-gen [OPTION]... FILE...\n"
         "       sframe-gen --launch [OPTION]... -- COMPILER ARGUMENT...\n"
         "Give ELF files for x86-64, aarch64 and s390x a loaded .sframe section, made from the call frame\n"
         "information they carry in .eh_frame and .debug_frame, so that profilers can walk their stacks fast.\n"
         "Programs and libraries are ready then; an object's section is merged by the linker.\n"
         "Each FILE is replaced atomically, or left exactly as it was and the reason given.\n" +
         described_options() + "\nReaders that --for and --check know:\n" + described_readers() +
         "\nExamples:\n"
         "  sframe-gen a.out                        in place\n"
         "  sframe-gen -o b.out a.out               leave a.out as it is\n"
         "  sframe-gen --skip-non-elf usr/bin/* usr/lib/*.so*   a whole package\n"
         "  sframe-gen libfoo.a                     each member of a static library\n"
         "  sframe-gen --for=glibc a.out            for backtrace() of glibc 2.42 instead of the kernel\n"
         "  sframe-gen a.o                          an object, for GNU ld 2.46 or mold 2.42 or later\n"
         "  sframe-gen --remove a.out               a.out as it was\n"
         "  sframe-gen --emit=asm foo.o | cat foo.s - | as -o with.o  .sframe for an assembler that writes none\n"
         "  sframe-gen --verify b.out               does every row say what the DWARF says?\n"
         "  sframe-gen --check=kernel,glibc b.out   do these readers take the section?\n"
         "  sframe-gen --launch -- gcc -c a.c       compile, and convert a.o\n"
         "  sframe-gen --report=json -n a.out       what would be covered, and what not and why\n"
         "\nExit status: 0 all done; 1 a file failed, --verify found a difference, or a reader that\n"
         "--check asked does not take the section; 2 wrong usage;\n"
         "3 --verify found no difference, but there are rows that it could not check.\n";
}

}  // namespace sframe_gen::cli
