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
#include "trace/walk/jit_dump.hpp"
#include "trace/walk/kernel_registers.hpp"
#include "trace/walk/perf_map.hpp"
#include "trace/walk/stack.hpp"

namespace sframe_gen::fuzz {

namespace {

trace::walk::OpenedFile no_file(const trace::walk::Mapping&) {
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
    trace::recorded::Recording recording(MappedFile(file.path()), no_file);
    trace::walk::Walker walker(16, false, trace::walk::FramePointers::Always);
    const WrittenFile written;
    trace::recorded::CallChainFile chains(recording.file(), written.path);
    const trace::recorded::Sample* walked = nullptr;
    recording.walk_all(
        walker, [&](const trace::recorded::Sample& sample) { walked = &sample; }, {},
        [&](const trace::perf::PerfRecord& record) {
          if (record.type != trace::perf::record_type::sample) return chains.add(record);
          chains.add_sample(record, *walked);
        });
    chains.finish();
    trace::recorded::Recording again(MappedFile(written.path), no_file);
    std::uint64_t samples = 0;
    again.walk_all(walker, [&](const trace::recorded::Sample&) { ++samples; }, {});
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
  const trace::record::EventRequest request{
      .kinds = {trace::record::event_named("cpu-clock")}, .rate = 99, .stack = 256};
  trace::perf::EventLayouts layouts({"ring", "events"}, host_endian);
  layouts.add(trace::record::attributes_of(request, 0, true, true), {});
  const trace::walk::TranslationOptions options;
  trace::record::ProgramFiles files(options);
  const MemoryFile file;
  trace::perf::PerfDataWriter writer(file.descriptor(), file.path(), host_endian,
                                     {{trace::record::attributes_of(request, 0, true, false), {}}});
  trace::record::WalkedRecords records(layouts, files, 16, trace::walk::FramePointers::Auto, {.file = &writer});
  trace::record::RecordOrder order;
  bool is_of_kernel = true;
  const bool is_sound = succeeds([&] {
    trace::record::take_records(bytes, tail, tail + size, [&](Bytes whole) {
      const trace::perf::PerfRecord record = trace::record::read_record(whole, layouts);
      constexpr std::uint32_t first_of_perf = 64;
      is_of_kernel = is_of_kernel && record.type < first_of_perf;
      order.add({record.time, trace::record::without_room(record, whole)});
    });
  });
  const bool is_walked = succeeds([&] {
    for (const trace::record::TakenRecord& record : order.take_before(~std::uint64_t{0})) records.take(record);
    records.finish(1);
  });
  writer.update();
  if (!is_sound || !is_walked || !is_of_kernel) return;
  const trace::perf::PerfDataFile written(MappedFile(file.path()), trace::walk::host_abi());
  const auto samples =
      std::ranges::count(written.records(), trace::perf::record_type::sample, &trace::perf::PerfRecord::type);
  require(static_cast<std::uint64_t>(samples) == records.samples(), "a written recording has the samples of the ring");
}

void core_file(Bytes input) {
  const MemoryFile file(input);
  const trace::walk::TranslationOptions options;
  static const trace::FileRoot empty_root = make_empty_root();
  succeeds([&] {
    trace::recorded::CoreFile core(file.path(), empty_root, {}, options);
    trace::walk::AddressSpace space = core.address_space();
    trace::walk::Walker walker(16, false, trace::walk::FramePointers::Always);
    for (const trace::recorded::CoreFile::Thread& thread : core.threads())
      walker.walk(space, thread.registers, trace::recorded::CoreFile::read_word, &core);
  });
}

/// The code of each function, where it was put last.
void jitdump(Bytes input) {
  const MemoryFile file(input);
  const trace::walk::TranslationOptions options;
  static const trace::FileRoot empty_root = make_empty_root();
  succeeds([&] {
    const trace::walk::JitDump dump(MappedFile(file.path()), sframe::Abi::Amd64);
    trace::walk::JitCode code([&] { return trace::walk::JitDump(MappedFile(file.path()), sframe::Abi::Amd64); },
                              options, empty_root);
    const std::size_t few = std::min<std::size_t>(dump.placements().size(), 16);
    for (const trace::walk::JitPlacement& placement : std::span(dump.placements()).first(few)) {
      code.go_to(placement.time);
      const auto part = code.part_at(placement.address);
      if (!part) continue;
      require(part->begin <= placement.address && placement.address < part->end, "a part holds its address");
      const auto made = code.file_of(code.function_of(*part));
      const std::uint64_t address = placement.address - part->begin + trace::walk::jit_code_address;
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
  trace::walk::AddressSpace space(trace::live::executable_mappings(maps), no_file);
  trace::recorded::KernelNames names(std::vector<char>(text.begin(), text.end()));
  trace::walk::PerfMap map(std::vector<char>(text.begin(), text.end()));
  for (const std::uint64_t pc : {std::uint64_t{0}, std::uint64_t{0x1000}, ~std::uint64_t{0xfff}}) {
    names.name_at(pc);
    require(map.function_at(pc).offset <= pc, "a function begins at or before its code");
  }
}

}  // namespace sframe_gen::fuzz
