// Any bytes as a recording of perf, a ring of the kernel's, a core file, and texts of /proc.

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "target.hpp"
#include "trace/live/process.hpp"
#include "trace/perf/perf_data_file.hpp"
#include "trace/record/event_files.hpp"
#include "trace/record/walked_records.hpp"
#include "trace/recorded/call_chain_file.hpp"
#include "trace/recorded/core_file.hpp"
#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/recorded_files.hpp"
#include "trace/recorded/recording.hpp"
#include "trace/walk/jit_code.hpp"
#include "trace/walk/perf_map.hpp"
#include "trace/walk/registers.hpp"
#include "trace/walk/stack.hpp"

namespace sframe_gen::fuzz {

namespace {

trace::OpenedFile no_file(const trace::Mapping&) {
  return {nullptr, "none"};
}

/// A name for a file that is written, in memory.
struct WrittenFile {
  WrittenFile() = default;
  ~WrittenFile() { std::filesystem::remove(path); }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;

  const std::filesystem::path path = "/dev/shm/fuzz-written-" + std::to_string(::getpid());
};

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
    const WrittenFile written;
    trace::CallChainFile chains(recording.file(), written.path);
    const trace::Sample* walked = nullptr;
    recording.walk_all(
        walker, [&](const trace::Sample& sample) { walked = &sample; }, {},
        [&](const trace::PerfRecord& record) {
          if (record.type != trace::record_type::sample) return chains.add(record);
          chains.add_sample(record, *walked);
        });
    chains.finish();
    trace::Recording again(MappedFile(written.path), no_file);
    std::uint64_t samples = 0;
    again.walk_all(walker, [&](const trace::Sample&) { ++samples; }, {});
    require(samples == chains.samples(), "what was written again has the same samples");
  });
}

/// A ring of the kernel's, what is walked of it, and the file that is written.
void ring(Bytes input) {
  Choices choices(input);
  const std::size_t size = std::size_t{64} << choices.below(8);
  const std::uint64_t tail = choices.word();
  std::vector<std::byte> bytes(choices.rest().begin(), choices.rest().end());
  bytes.resize(size);
  const trace::EventRequest request{.kinds = {trace::event_named("cpu-clock")}, .rate = 99, .stack = 256};
  trace::EventLayouts layouts({"ring", "events"}, host_endian);
  layouts.add(trace::attributes_of(request, 0, true, true), {});
  const trace::TranslationOptions options;
  trace::ProgramFiles files(options);
  const MemoryFile file;
  trace::PerfDataWriter writer(file.descriptor(), file.path(), host_endian,
                               {{trace::attributes_of(request, 0, true, false), {}}});
  trace::WalkedRecords records(layouts, files, 16, trace::FramePointers::Auto, {.file = &writer});
  trace::RecordOrder order;
  bool is_of_kernel = true;
  const bool is_sound = succeeds([&] {
    trace::take_records(bytes, tail, tail + size, [&](Bytes whole) {
      const trace::PerfRecord record = trace::read_record(whole, layouts);
      constexpr std::uint32_t first_of_perf = 64;
      is_of_kernel = is_of_kernel && record.type < first_of_perf;
      order.add({record.time, trace::without_room(record, whole)});
    });
  });
  const bool is_walked = succeeds([&] {
    for (const trace::TakenRecord& record : order.take_before(~std::uint64_t{0})) records.take(record);
    records.finish(1);
  });
  writer.update();
  if (!is_sound || !is_walked || !is_of_kernel) return;
  const trace::PerfDataFile written(MappedFile(file.path()), trace::host_abi());
  const auto samples = std::ranges::count(written.records(), trace::record_type::sample, &trace::PerfRecord::type);
  require(static_cast<std::uint64_t>(samples) == records.samples(), "a written recording has the samples of the ring");
}

void core_file(Bytes input) {
  const MemoryFile file(input);
  const trace::TranslationOptions options;
  static const trace::FileRoot empty_root = make_empty_root();
  succeeds([&] {
    trace::CoreFile core(file.path(), empty_root, {}, options);
    trace::AddressSpace space = core.address_space();
    trace::Walker walker(16, false, trace::FramePointers::Always);
    for (const trace::CoreFile::Thread& thread : core.threads())
      walker.walk(space, thread.registers, trace::CoreFile::read_word, &core);
  });
}

/// The code of each function, where it was put last.
void jitdump(Bytes input) {
  const MemoryFile file(input);
  const trace::TranslationOptions options;
  static const trace::FileRoot empty_root = make_empty_root();
  succeeds([&] {
    const trace::JitDump dump(MappedFile(file.path()), sframe::Abi::Amd64);
    trace::JitCode code([&] { return trace::JitDump(MappedFile(file.path()), sframe::Abi::Amd64); }, options,
                        empty_root);
    const std::size_t few = std::min<std::size_t>(dump.placements().size(), 16);
    for (const trace::JitPlacement& placement : std::span(dump.placements()).first(few)) {
      code.go_to(placement.time);
      const auto part = code.part_at(placement.address);
      if (!part) continue;
      require(part->begin <= placement.address && placement.address < part->end, "a part holds its address");
      const auto made = code.file_of(code.function_of(*part));
      const std::uint64_t address = placement.address - part->begin + trace::jit_code_address;
      made->rows();
      require(made->function_at(address).offset <= address, "a function begins at or before its code");
      made->keeps_frame_pointer_at(address, true);
    }
  });
}

void proc(Bytes input) {
  jitdump(input);
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  std::istringstream maps(text);
  trace::AddressSpace space(trace::executable_mappings(maps), no_file);
  trace::KernelNames names(std::vector<char>(text.begin(), text.end()));
  trace::PerfMap map(std::vector<char>(text.begin(), text.end()));
  for (const std::uint64_t pc : {std::uint64_t{0}, std::uint64_t{0x1000}, ~std::uint64_t{0xfff}}) {
    names.name_at(pc);
    require(map.function_at(pc).offset <= pc, "a function begins at or before its code");
  }
}

}  // namespace sframe_gen::fuzz
