// Files of more than 4 GiB that are nearly all hole: offsets beyond 32 bits, and holes that stay holes.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

constexpr std::uint64_t far = (std::uint64_t{1} << 32) + (1 << 20);
constexpr std::uint64_t largest_use = 4 << 20;  ///< bytes on disk

std::uint64_t bytes_on_disk(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512 : UINT64_MAX;
}

/// A sparse copy of a stripped program whose last sections and section headers lie at `far`. `edit` may change its
/// headers further.
std::filesystem::path far_program(const Folder& folder, const std::function<void(Fields&)>& edit) {
  write_text(folder / "a.c", "static int space[1000]; int main(void) { return space[3]; }\n");
  EXPECT_EQ(run("gcc -O1 -s -pie -fuse-ld=bfd -o " + (folder / "a").string() + " " + (folder / "a.c").string()).status,
            0);
  const Image image = Image::open(folder / "a");
  Fields fields{image.header(), image.segments(), {}, read_text(folder / "a")};
  for (const Section& section : image.sections()) fields.sections.push_back(section.header);
  const int file = ::open((folder / "far").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0755);
  const auto put = [&](const void* bytes, std::size_t size, std::uint64_t at) {
    EXPECT_EQ(::pwrite(file, bytes, size, static_cast<off_t>(at)), static_cast<ssize_t>(size));
  };
  put(fields.bytes.data(), fields.bytes.size(), 0);
  std::uint64_t end = far;
  for (Elf64_Shdr& section : fields.sections) {
    if (section.sh_type == SHT_NULL || (section.sh_flags & SHF_ALLOC) != 0) continue;
    put(fields.bytes.data() + section.sh_offset, section.sh_size, end);
    section.sh_offset = end;
    end = align_up(end + section.sh_size, 8);
  }
  edit(fields);
  fields.header.e_shoff = end;
  std::vector<std::byte> table(fields.sections.size() * sizeof(Elf64_Shdr));
  for (std::size_t i = 0; i < fields.sections.size(); ++i)
    store_section(std::span(table).subspan(i * sizeof(Elf64_Shdr)), fields.sections[i], Endian::Little);
  put(table.data(), table.size(), end);
  std::vector<std::byte> headers(sizeof(Elf64_Ehdr) + fields.segments.size() * sizeof(Elf64_Phdr));
  store_header(headers, fields.header, Endian::Little);
  for (std::size_t i = 0; i < fields.segments.size(); ++i) {
    store_segment(std::span(headers).subspan(sizeof(Elf64_Ehdr) + i * sizeof(Elf64_Phdr)), fields.segments[i],
                  Endian::Little);
  }
  put(headers.data(), headers.size(), 0);
  ::close(file);
  return folder / "far";
}

void convert_sparse(const std::filesystem::path& input, const std::filesystem::path& output, std::size_t size) {
  ASSERT_LT(bytes_on_disk(input), largest_use) << "the file system of the temporary folder keeps no holes";
  const Image image = Image::open(input);
  rewrite::rewrite(image, rewrite::plan_layout(image, size), in_chunks(payload(size)), output);
  EXPECT_LT(bytes_on_disk(output), largest_use);
}

TEST(SparseFiles, SectionsFarAwayStayThere) {
  const Folder folder;
  const auto input = far_program(folder, [](Fields&) {});
  convert_sparse(input, folder / "output", 0x2345);
  const Image output = Image::open(folder / "output");
  EXPECT_GE(output.find_section(".comment")->header.sh_offset, far);
  EXPECT_GT(output.header().e_shoff, far);
  check_layout(Image::open(input), output, Contents::All);
  EXPECT_EQ(run((folder / "output").string()).status, 0);
}

// Its .bss has bytes in the file, all of them a hole. Not run: the machine may have less memory than it asks for.
TEST(SparseFiles, LoadedHolesStayHoles) {
  const Folder folder;
  const auto input = far_program(folder, [](Fields& f) {
    Elf64_Phdr* last = nullptr;
    for (Elf64_Phdr& s : f.segments)
      if (s.p_type == PT_LOAD) last = &s;
    last->p_filesz = last->p_memsz = far - last->p_offset;
    for (Elf64_Shdr& s : f.sections) {
      if (s.sh_type != SHT_NOBITS || (s.sh_flags & SHF_TLS) != 0) continue;
      s.sh_type = SHT_PROGBITS;
      s.sh_offset = last->p_offset + (s.sh_addr - last->p_vaddr);
      s.sh_size = far - s.sh_offset;
    }
  });
  convert_sparse(input, folder / "output", 0x2345);
  const Image output = Image::open(folder / "output");
  const Section& section = *output.find_section(sframe_section_name);
  EXPECT_GT(section.header.sh_addr, far);
  EXPECT_GT(section.header.sh_offset, far);
  const auto bytes = output.bytes_of(section);
  const auto expected = payload(0x2345);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end()));
}

}  // namespace
}  // namespace sframe_gen::elf::test
