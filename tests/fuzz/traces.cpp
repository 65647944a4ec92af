// Any bytes as a recording of perf, a core file, and texts of /proc.

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "target.hpp"
#include "trace/live/process.hpp"
#include "trace/recorded/core_file.hpp"
#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/recording.hpp"
#include "trace/walk/stack.hpp"

namespace sframe_gen::fuzz {

namespace {

trace::OpenedFile no_file(const trace::Mapping&) {
  return {nullptr, "none"};
}

/// A directory that is removed while it is open: no name leads to a file.
trace::FileRoot make_empty_root() {
  std::string path = (std::filesystem::temp_directory_path() / "fuzz-root-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) throw SystemFailure(path, "make", errno);
  trace::FileRoot root(path);
  std::filesystem::remove(path);
  return root;
}

}  // namespace

void perf_data(Bytes input) {
  const MemoryFile file(input);
  succeeds([&] {
    trace::Recording recording(MappedFile(file.path()), no_file);
    trace::Walker walker(16, false, trace::FramePointers::Always);
    recording.walk_all(walker, [](const trace::Sample&) {}, {});
  });
}

void core_file(Bytes input) {
  const MemoryFile file(input);
  const trace::TranslationOptions options;
  static const trace::FileRoot empty_root = make_empty_root();
  succeeds([&] {
    trace::CoreFile core(file.path(), empty_root, options);
    trace::AddressSpace space = core.address_space();
    trace::Walker walker(16, false, trace::FramePointers::Always);
    for (const trace::CoreFile::Thread& thread : core.threads())
      walker.walk(space, thread.registers, trace::CoreFile::read_word, &core);
  });
}

void proc(Bytes input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  std::istringstream maps(text);
  trace::AddressSpace space(trace::executable_mappings(maps), no_file);
  trace::KernelNames names(std::vector<char>(text.begin(), text.end()));
  for (const std::uint64_t pc : {std::uint64_t{0}, std::uint64_t{0x1000}, ~std::uint64_t{0xfff}}) names.name_at(pc);
}

}  // namespace sframe_gen::fuzz
