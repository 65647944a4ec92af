#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "command_line/options.hpp"
#include "trace/record/recorder.hpp"
#include "trace/recorded/sample_choice.hpp"
#include "trace/report/top_functions.hpp"
#include "trace/walk/code_file.hpp"
#include "trace/walk/code_patterns.hpp"

namespace sframe_gen::trace {

using command_line::UsageError;

enum class Source : std::uint8_t { Process, Command, Core, Recording, Record, Help, RecordHelp, Version };
enum class OutputForm : std::uint8_t { Text, Json, Folded, Top };

struct TraceOptions {
  Source source = Source::Help;
  int process = 0;
  std::vector<std::string> command;
  std::filesystem::path file;                 ///< core file or recording
  std::filesystem::path program;              ///< of the core file; empty: where it was
  std::optional<std::filesystem::path> root;  ///< where the files are that either names; none: on this system
  OutputForm form = OutputForm::Text;
  recorded::SampleChoice choice;         ///< of a recording
  std::filesystem::path kernel_symbols;  ///< a list as /proc/kallsyms; empty: that one, of the same kernel
  std::filesystem::path flame_graph;     ///< a file to write instead; empty: none
  std::string title;                     ///< of the picture; empty: what was sampled
  bool has_roots_below = false;          ///< the picture has callers under what they call
  std::filesystem::path pprof;           ///< a profile for pprof to write instead; empty: none
  std::filesystem::path call_chains;     ///< a recording to write instead; empty: none
  walk::TranslationOptions translation;
  walk::FramePointers frame_pointers = walk::FramePointers::Auto;
  bool earlier_samples = false;  ///< give larger stacks than were recorded their outer frames
  std::size_t most_frames = 1024;
  report::TopStyle top;        ///< of OutputForm::Top
  bool folds_periods = false;  ///< folded text has sums of periods
  bool compare = false;        ///< with what DWARF says
  bool quiet = false;
  bool debuginfod = false;  ///< files that are not here are fetched
  record::RecordOptions record;
};

/// Of --sort.
inline constexpr command_line::Choice top_orders[]{
    {"total", static_cast<int>(report::TopOrder::Total), "by the samples that have a function anywhere"},
    {"self", static_cast<int>(report::TopOrder::Self), "by the samples that have it innermost"},
};
inline constexpr command_line::Argument top_order_argument{
    .kind = command_line::ArgumentKind::Choice, .name = "SHARE", .choices = top_orders};

/// Of --frame-pointers.
inline constexpr command_line::Choice frame_pointer_choices[]{
    {"auto", static_cast<int>(walk::FramePointers::Auto), "in code that is seen to keep them"},
    {"always", static_cast<int>(walk::FramePointers::Always), "wherever there is no row"},
    {"never", static_cast<int>(walk::FramePointers::Never), "nowhere"},
};
inline constexpr command_line::Argument frame_pointer_argument{
    .kind = command_line::ArgumentKind::Choice, .name = "WHEN", .choices = frame_pointer_choices};

/// What is written of samples, by the options that reading and recording have in common. Throws UsageError.
void read_report(const command_line::Given& given, TraceOptions& options);

/// Throws UsageError.
TraceOptions read_options(int argument_count, const char* const* arguments);

std::string help_text();

/// Of `sframe-trace record`: `arguments` begin with its name. Throws UsageError.
TraceOptions read_record_options(int argument_count, const char* const* arguments);

std::string record_help_text();

}  // namespace sframe_gen::trace
