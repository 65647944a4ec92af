#include "cli/run.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <vector>

#include "cli/emitted_file.hpp"
#include "cli/heap.hpp"
#include "cli/progress.hpp"
#include "cli/report/json.hpp"
#include "cli/report/text.hpp"
#include "convert/file_kind.hpp"
#include "sframe/dump.hpp"
#include "sframe_gen/section.hpp"
#include "sframe_gen/verify.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

using convert::FileKind;

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
      plans_.clear();
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
    const FileKind kind = convert::kind_of(file);
    // What is no regular file has to be complained of.
    if (options_.skip_non_elf && kind == FileKind::Other && std::filesystem::is_regular_file(file, ignored)) return;
    const bool archive = kind == FileKind::Archive;
    switch (options_.action) {
      case Action::Convert:
        return convert_one(file);
      case Action::Emit:
        return emit_one(file);
      case Action::Remove:
        return remove_one(file);
      case Action::Dump:
        return archive ? dump_archive(file) : dump_one(file);
      case Action::Verify:
        return archive ? verify_archive_one(file) : verify_one(file);
      case Action::Launch:
      case Action::Help:
      case Action::Version:
        return;
    }
  } catch (const std::exception& failure) {
    // Failure names the file itself; anything else (out of memory, a filesystem error) does not.
    const bool named = dynamic_cast<const Failure*>(&failure) != nullptr;
    const std::string text = named ? failure.what() : file.string() + ": " + failure.what();
    const bool passed_over = options_.skip_refused && dynamic_cast<const Refused*>(&failure) != nullptr;
    if (!passed_over) {
      error(text);
    } else if (!options_.quiet) {
      message("note", text);
    }
    if (json()) return write_json_failure(file.string(), passed_over ? "refused" : "failed", text, report(), plans_);
    write_plans(plans_, std::cout);
  }

  void convert_one(const std::filesystem::path& file) {
    prepare_heap(file);
    const std::filesystem::path output = options_.output.value_or(file);
    const Outcome outcome = convert_file(file, output, options_.convert, observer(file.string()));
    progress_.clear();
    if (json()) return write_json(file.string(), output.string(), outcome, plans_, std::cout);
    if (options_.quiet) return;
    write_summary(file.string(), outcome, std::cout);
    if (options_.verbose) write_details(file.string(), outcome, std::cout);
    write_plans(plans_, std::cout);
  }

  /// With standard output taken, the report goes to standard error, and only if it was asked for.
  void emit_one(const std::filesystem::path& file) {
    if (is_piped()) check_standard_output(options_.emit);
    const Emitted emitted =
        emit_section(file, options_.emit, options_.convert, options_.section_address, observer(file.string()));
    progress_.clear();
    if (options_.output) write_emitted(emitted.contents, file, *options_.output);
    if (is_piped()) std::cout << emitted.contents;
    const std::string output = options_.output ? options_.output->string() : "-";
    if (json()) return write_json(file.string(), output, emitted, report());
    if (options_.quiet || (is_piped() && !options_.verbose)) return;
    write_summary(file.string(), emitted, report());
    if (options_.verbose) write_details(emitted, report());
  }

  void remove_one(const std::filesystem::path& file) {
    const std::filesystem::path output = options_.output.value_or(file);
    const Removed removed = remove_section(file, output, options_.convert.dry_run);
    progress_.clear();
    if (json()) return write_json(file.string(), output.string(), removed, std::cout);
    if (!options_.quiet) write_summary(file.string(), removed, std::cout);
  }

  void dump_one(const std::filesystem::path& file) const {
    dump(file.string(), read_sections(file), options_.files.size() > 1);
  }

  static void dump(const std::string& name, const std::vector<FileSection>& sections, bool with_name) {
    if (with_name) std::cout << "\nFile: " << printable(name) << '\n';
    for (const FileSection& found : sections) sframe::dump(found.section, found.name, std::cout);
  }

  /// A member that fails does not keep the others from it.
  void dump_archive(const std::filesystem::path& file) {
    read_archive_sections(
        file, [](const std::string& name, const std::vector<FileSection>& sections) { dump(name, sections, true); },
        [&](const Failure& failure) { error(failure.what()); });
  }

  void verify_one(const std::filesystem::path& file) {
    const Verification result =
        verify_file(file, options_.convert.debug_file, options_.convert.ignore_build_id, observer(file.string()));
    progress_.clear();
    if (json()) {
      write_json(file.string(), result, std::cout);
    } else if (!options_.quiet) {
      write_summary(file.string(), result, std::cout);
    }
    complain_of_differences(file.string(), result);
  }

  /// A line for the archive, and with --verbose one for each member.
  void verify_archive_one(const std::filesystem::path& file) {
    if (options_.convert.debug_file) throw Refused(file.string(), "is an archive, for which --cfi-from does not work");
    const std::vector<MemberVerification> members = verify_archive(file, observer(file.string()));
    progress_.clear();
    for (const MemberVerification& member : members)
      if (!member.failure.empty()) error(member.failure);
    if (json()) {
      write_json(file.string(), members, std::cout);
    } else if (!options_.quiet) {
      write_summary(file.string(), members, std::cout);
    }
    for (const MemberVerification& member : members) {
      if (!member.failure.empty()) continue;
      if (!json() && options_.verbose) write_summary(member.name, member.result, std::cout);
      complain_of_differences(member.name, member.result);
    }
  }

  void complain_of_differences(const std::string& name, const Verification& result) {
    for (const Difference& difference : result.differences) error(name + ": " + difference.text);
    const std::uint64_t problems = result.difference_count + result.unchecked_count;
    if (problems > result.differences.size())
      error(name + ": and " + std::to_string(problems - result.differences.size()) + " more");
  }

  Observer observer(const std::string& file) {
    Observer observer;
    observer.warn = [this](const std::string& text) { message("warning", text); };
    observer.progress = [this, file](std::uint64_t done, std::uint64_t all) { progress_.show(done, all, file); };
    if (options_.explain) observer.plan = [this](const TriedPlan& plan) { plans_.push_back(plan); };
    return observer;
  }

  /// Whether standard output is for a section.
  bool is_piped() const { return options_.action == Action::Emit && !options_.output && !options_.convert.dry_run; }
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
  std::vector<TriedPlan> plans_;  ///< of the file at work
  int status_ = 0;
};

}  // namespace

int run(const Options& options) {
  return Run(options).all();
}

}  // namespace sframe_gen::cli
