#include "cli/run.hpp"

#include <iostream>

#include "cli/cfi_image.hpp"
#include "cli/convert.hpp"
#include "cli/emit.hpp"
#include "cli/magic.hpp"
#include "cli/progress.hpp"
#include "cli/remove.hpp"
#include "cli/report_json.hpp"
#include "cli/report_text.hpp"
#include "elf/image.hpp"
#include "sframe/dump.hpp"
#include "support/text.hpp"
#include "verify/file_section.hpp"
#include "verify/verify.hpp"

namespace sframe_gen::cli {

namespace {

/// The files of one command line, and the status they add up to.
class Run {
 public:
  explicit Run(const Options& options) : options_(options), progress_(!options.quiet) {}

  int all() {
    std::uint64_t done = 0;
    for (const std::filesystem::path& file : options_.files) {
      if (options_.files.size() > 1) progress_.show(done, options_.files.size(), file.string());
      ++done;
      trials_.clear();
      one(file);
    }
    progress_.clear();
    std::cout.flush();
    if (!std::cout) {
      error("cannot write to standard output");
    }
    return status_;
  }

 private:
  void one(const std::filesystem::path& file) try {
    std::error_code ignored;
    if (options_.skip_non_elf && std::filesystem::is_regular_file(file, ignored) && !is_elf(file)) return;
    switch (options_.action) {
      case Action::Convert:
        return convert_one(file);
      case Action::Emit:
        return emit_one(file);
      case Action::Remove:
        return remove_one(file);
      case Action::Dump:
        return dump_one(file);
      case Action::Verify:
        return verify_one(file);
      case Action::Launch:
      case Action::Help:
      case Action::Version:
        return;
    }
  } catch (const std::exception& failure) {
    // Failure names the file itself; anything else (out of memory, a filesystem error) does not.
    const bool named = dynamic_cast<const Failure*>(&failure) != nullptr;
    const std::string text = named ? failure.what() : file.string() + ": " + failure.what();
    error(text);
    if (json()) return write_json_failure(file.string(), text, report(), trials_);
    write_plans(trials_, std::cout);
  }

  void convert_one(const std::filesystem::path& file) {
    const Report report = convert(
        options_, file, [this](const std::string& text) { message("warning", text); }, trials_);
    progress_.clear();
    if (json()) return write_json(report, std::cout, trials_);
    if (options_.quiet) return;
    write_summary(report, std::cout);
    if (options_.verbose) write_details(report, std::cout);
    write_plans(trials_, std::cout);
  }

  /// With standard output taken, the report goes to standard error, and only if it was asked for.
  void emit_one(const std::filesystem::path& file) {
    if (is_piped()) check_standard_output(options_);
    const Emitted emitted = emit_section(options_, file, [this](const std::string& text) { message("warning", text); });
    progress_.clear();
    if (options_.output) write_emitted(emitted.contents, file, *options_.output);
    if (is_piped()) std::cout << emitted.contents;
    if (json()) return write_json(emitted.report, report());
    if (options_.quiet || (is_piped() && !options_.verbose)) return;
    write_summary(emitted.report, report());
    if (options_.verbose) write_details(emitted.report, report());
  }

  void remove_one(const std::filesystem::path& file) {
    const Removal removal = remove_section(options_, file);
    progress_.clear();
    if (json()) return write_json(removal, std::cout);
    if (!options_.quiet) write_summary(removal, std::cout);
  }

  void dump_one(const std::filesystem::path& file) const {
    const elf::Image image = elf::Image::open(file);
    const verify::FileSection found = verify::read_file_section(image);
    if (options_.files.size() > 1) std::cout << "\nFile: " << file.string() << '\n';
    sframe::dump(found.section, found.name, std::cout);
  }

  void verify_one(const std::filesystem::path& file) {
    const elf::Image image = elf::Image::open(file);
    std::optional<elf::Image> debug;
    if (options_.cfi_from) debug = open_debug_file(image, *options_.cfi_from, options_.ignore_build_id);
    const auto show = [&](std::uint64_t done, std::uint64_t functions) {
      progress_.show(done, functions, file.string());
    };
    const verify::Verification result = verify::verify(image, debug ? *debug : image, show);
    progress_.clear();
    if (json()) {
      write_json(file.string(), result, std::cout);
    } else if (!options_.quiet) {
      std::cout << file.string() << ": " << count_of(result.functions, "descriptor") << ", "
                << count_of(result.rows, "row") << ", " << count_of(result.checked_pcs, "PC") << " checked: "
                << (result.difference_count == 0 ? "no difference" : count_of(result.difference_count, "difference"))
                << "; " << result.left_out_rows << " left out";
      if (result.unchecked_count != 0) std::cout << ", " << count_of(result.unchecked_count, "row") << " unchecked";
      std::cout << '\n';
    }
    for (const verify::Difference& difference : result.differences) error(image.name() + ": " + difference.text);
    const std::uint64_t problems = result.difference_count + result.unchecked_count;
    if (problems > result.differences.size()) {
      error(image.name() + ": and " + std::to_string(problems - result.differences.size()) + " more");
    }
  }

  /// Whether standard output is for a section.
  bool is_piped() const { return options_.action == Action::Emit && !options_.output && !options_.dry_run; }
  std::ostream& report() const { return is_piped() ? std::cerr : std::cout; }
  bool json() const { return options_.report == ReportFormat::Json; }

  void error(const std::string& text) {
    status_ = 1;
    message("error", text);
  }

  void message(const char* severity, const std::string& text) {
    progress_.clear();
    std::cout.flush();
    std::cerr << "sframe-gen: " << severity << ": " << printable(text) << '\n';
  }

  const Options& options_;
  Progress progress_;
  std::vector<elf::Trial> trials_;  ///< of the file at work
  int status_ = 0;
};

}  // namespace

int run(const Options& options) {
  return Run(options).all();
}

}  // namespace sframe_gen::cli
