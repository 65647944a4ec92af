// Translates the call frame information of a mapped file to .sframe bytes in memory, and decodes these.
#include <fcntl.h>
#include <sframe_gen/convert.hpp>
#include <sframe_gen/section.hpp>
#include <sys/mman.h>
#include <sys/stat.h>

#include <iostream>
#include <span>

int main(int count, char** files) try {
  const int file = count == 2 ? ::open(files[1], O_RDONLY) : -1;
  struct stat status {};
  if (::fstat(file, &status) != 0) return 2;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (mapped == MAP_FAILED) return 2;
  const auto translated = sframe_gen::translate({static_cast<const std::byte*>(mapped), size}, files[1], 0);
  const auto section = sframe_gen::sframe::decode(translated.bytes, translated.address, {files[1], ".sframe"});
  std::cout << files[1] << ": " << translated.bytes.size() << " bytes, " << section.fdes.size() << " FDEs, "
            << translated.coverage.rows << " rows\n";
} catch (const sframe_gen::Failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
