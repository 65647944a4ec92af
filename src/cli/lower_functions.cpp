#include "cli/lower_functions.hpp"

#include <algorithm>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "cli/report_text.hpp"
#include "elf/symbol_names.hpp"
#include "emit/select.hpp"
#include "support/background.hpp"
#include "support/name_budget.hpp"

namespace sframe_gen::cli {

namespace {

/// Below this a thread costs more than it saves.
constexpr std::size_t functions_per_thread = 8192;
constexpr std::size_t most_threads = 8;

struct Lowered {
  emit::SectionEncoder encoder;
  Report report;
};

Lowered lower_part(const cfi::FrameSource& source, const cfi::FrameSource::Part& part, const emit::Dialect& dialect) {
  Lowered lowered{emit::SectionEncoder(dialect), {}};
  emit::Selector selector(dialect);
  lowered.report.dropped.duplicate = source.for_each_function(part, [&](const cfi::FunctionFrames& frames) {
    const emit::Selected& selected = selector.select(frames);
    for (const sframe::Function& function : selected.functions) lowered.encoder.add(function);
    lowered.report.add(frames, selected);
  });
  return lowered;
}

std::size_t thread_count(std::size_t functions) {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return std::clamp<std::size_t>(functions / functions_per_thread, 1, std::min(cores, most_threads));
}

}  // namespace

emit::Dialect dialect_for(const elf::Image& image, const emit::OutputFormat& format) {
  const sframe::AbiTraits* const abi = sframe::find_abi(image.header().e_machine, image.endian());
  if (abi == nullptr) throw Refused(image.name(), "is for a machine that SFrame has no identifier for");
  return emit::make_dialect(format, abi->abi, image.name());
}

const elf::NewSection& section_for(const emit::OutputFormat& format) {
  return format.version == sframe::Version::CtfFrame ? elf::ctf_frame_section : elf::sframe_section;
}

Report new_report(const std::filesystem::path& file, const std::filesystem::path& output,
                  const emit::Dialect& dialect) {
  Report report;
  report.format = dialect.version->name;
  report.abi = sframe::name_of(dialect.abi->abi);
  report.file = file.string();
  report.output = output.string();
  return report;
}

emit::SectionEncoder lower_functions(const cfi::FrameSource& source, const emit::Dialect& dialect, Report& report) {
  report.dropped = source.dropped();
  const auto parts = source.parts(thread_count(source.size()));
  if (parts.empty()) return emit::SectionEncoder(dialect);
  std::vector<std::future<Lowered>> jobs;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    jobs.push_back(in_background([&source, &dialect, part = parts[i]] { return lower_part(source, part, dialect); }));
  }
  Lowered first = lower_part(source, parts[0], dialect);
  report.append(first.report);
  for (std::future<Lowered>& job : jobs) {
    const Lowered lowered = job.get();
    report.append(lowered.report);
    first.encoder.append(lowered.encoder);
  }
  return std::move(first.encoder);
}

emit::SectionEncoder lower_functions_of(const std::string& file, const cfi::FrameSource& source,
                                        const emit::Dialect& dialect, Report& report) {
  if (source.empty()) {
    throw Refused(file,
                  "has no call frame information (.eh_frame or .debug_frame); build it with "
                  "-fasynchronous-unwind-tables, or give its debug file with --cfi-from");
  }
  emit::SectionEncoder encoder = lower_functions(source, dialect, report);
  if (encoder.function_count() == 0) throw Refused(file, why_no_function(report));
  return encoder;
}

void name_holes(Report& report, const elf::Image& image) {
  if (report.holes.empty()) return;
  elf::SymbolNames names(image);
  NameBudget section_names(image.file_bytes().size());
  for (NamedHole& named : report.holes) {
    named.function = names.name_at(named.hole.begin);
    if (!image.is_object()) continue;
    // The addresses are our own: people know places by section.
    for (const elf::Section& section : image.sections()) {
      const Elf64_Shdr& header = section.header;
      const bool holds = (header.sh_flags & SHF_ALLOC) != 0 && named.hole.begin >= header.sh_addr &&
                         named.hole.begin - header.sh_addr < header.sh_size;
      if (!holds) continue;
      if (section_names.take(section.name.size())) named.section = section.name;
      named.hole.begin -= header.sh_addr;
      named.hole.end -= header.sh_addr;
      break;
    }
  }
}

}  // namespace sframe_gen::cli
