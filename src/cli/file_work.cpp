#include "cli/file_work.hpp"

#include <exception>
#include <ostream>
#include <vector>

#include "cli/emitted_file.hpp"
#include "cli/heap.hpp"
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

/// What follows the file's own name, without the advice that some reasons end in.
std::string reason_of(const std::string& file, std::string text) {
  if (text.starts_with(file + ": ")) text.erase(0, file.size() + 2);
  return text.substr(0, text.find("; "));
}

/// The work on one file.
class FileWork {
 public:
  FileWork(const Options& options, std::ostream& out, std::ostream& err, Progress* progress)
      : options_(options), out_(out), err_(err), progress_(progress) {}

  FileResult run(const Subject& subject) {
    const std::string file = subject.file.string();
    try {
      check_names(subject);
      do_it(subject.file);
      if (replaces()) keep_names_together(subject);
    } catch (const std::exception& failure) {
      // Failure names the file itself; anything else (out of memory, a filesystem error) does not.
      const bool named = dynamic_cast<const Failure*>(&failure) != nullptr;
      failed(file, named ? failure.what() : file + ": " + failure.what(),
             dynamic_cast<const Refused*>(&failure) != nullptr);
    }
    return std::move(result_);
  }

 private:
  bool replaces() const {
    const bool writes = options_.action == Action::Convert || options_.action == Action::Remove;
    return writes && !options_.output && !options_.convert.dry_run;
  }

  /// A file is replaced under the names that are known.
  void check_names(const Subject& subject) const {
    if (subject.names_elsewhere == 0 || !replaces()) return;
    throw Refused(subject.file.string(), "has " + count_of(subject.names_elsewhere, "other name") +
                                             " elsewhere (hard links), which would keep what it was");
  }

  void failed(const std::string& file, const std::string& text, bool refused) {
    const bool passed_over = options_.skip_refused && refused;
    if (!passed_over) {
      error(text);
    } else if (!options_.quiet) {
      message("note", text);
    }
    result_.what = passed_over ? FileResult::What::Refused : FileResult::What::Failed;
    result_.reason = reason_of(file, text);
    if (json()) return write_json_failure(file, passed_over ? "refused" : "failed", text, report(), plans_);
    write_plans(plans_, out_);
  }

  void do_it(const std::filesystem::path& file) {
    std::error_code ignored;
    const FileKind kind = convert::kind_of(file);
    // A folder or device is an error all the same.
    if (options_.skip_non_elf && kind == FileKind::Other && std::filesystem::is_regular_file(file, ignored)) {
      result_.what = FileResult::What::Skipped;
      return;
    }
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
  }

  void convert_one(const std::filesystem::path& file) {
    if (progress_ != nullptr) prepare_heap(file);
    const std::filesystem::path output = options_.output.value_or(file);
    const Outcome outcome = convert_file(file, output, options_.convert, observer(file.string()));
    count(outcome);
    clear_progress();
    if (json()) return write_json(file.string(), output.string(), outcome, plans_, out_);
    if (options_.quiet) return;
    write_summary(file.string(), outcome, out_);
    if (options_.verbose) write_details(file.string(), outcome, out_);
    write_plans(plans_, out_);
  }

  /// With standard output taken, the report goes to standard error, and only if it was asked for.
  void emit_one(const std::filesystem::path& file) {
    if (is_piped()) check_standard_output(options_.emit);
    const Emitted emitted =
        emit_section(file, options_.emit, options_.convert, options_.section_address, observer(file.string()));
    clear_progress();
    if (options_.output) write_emitted(emitted.contents, file, *options_.output);
    if (is_piped()) out_ << emitted.contents;
    const std::string output = options_.output ? options_.output->string() : "-";
    if (json()) return write_json(file.string(), output, emitted, report());
    if (options_.quiet || (is_piped() && !options_.verbose)) return;
    write_summary(file.string(), emitted, report());
    if (options_.verbose) write_details(emitted, report());
  }

  void remove_one(const std::filesystem::path& file) {
    const std::filesystem::path output = options_.output.value_or(file);
    const Removed removed = remove_section(file, output, options_.convert.dry_run);
    result_.growth =
        static_cast<std::int64_t>(removed.original_size) - static_cast<std::int64_t>(removed.converted_size);
    clear_progress();
    if (json()) return write_json(file.string(), output.string(), removed, out_);
    if (!options_.quiet) write_summary(file.string(), removed, out_);
  }

  void dump_one(const std::filesystem::path& file) const {
    dump(file.string(), read_sections(file), options_.files.size() > 1);
  }

  void dump(const std::string& name, const std::vector<FileSection>& sections, bool with_name) const {
    if (with_name) out_ << "\nFile: " << printable(name) << '\n';
    for (const FileSection& found : sections) sframe::dump(found.section, found.name, out_);
  }

  /// A member that fails does not stop the others.
  void dump_archive(const std::filesystem::path& file) {
    read_archive_sections(
        file, [&](const std::string& name, const std::vector<FileSection>& sections) { dump(name, sections, true); },
        [&](const Failure& failure) { error(failure.what()); });
  }

  void verify_one(const std::filesystem::path& file) {
    const Verification result =
        verify_file(file, options_.convert.debug_file, options_.convert.ignore_build_id, observer(file.string()));
    result_.rows = result.rows;
    clear_progress();
    if (json()) {
      write_json(file.string(), result, out_);
    } else if (!options_.quiet) {
      write_summary(file.string(), result, out_);
    }
    complain_of_differences(file.string(), result);
  }

  /// A line for the archive, and with --verbose one for each member.
  void verify_archive_one(const std::filesystem::path& file) {
    if (options_.convert.debug_file) throw Refused(file.string(), "is an archive, for which --cfi-from does not work");
    const std::vector<MemberVerification> members = verify_archive(file, observer(file.string()));
    result_.rows = sum_of(members).rows;
    clear_progress();
    for (const MemberVerification& member : members)
      if (!member.failure.empty()) error(member.failure);
    if (json()) {
      write_json(file.string(), members, out_);
    } else if (!options_.quiet) {
      write_summary(file.string(), members, out_);
    }
    for (const MemberVerification& member : members) {
      if (!member.failure.empty()) continue;
      if (!json() && options_.verbose) write_summary(member.name, member.result, out_);
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
    if (progress_ != nullptr)
      observer.progress = [this, file](std::uint64_t done, std::uint64_t all) { progress_->show(done, all, file); };
    if (options_.explain) observer.plan = [this](const TriedPlan& plan) { plans_.push_back(plan); };
    return observer;
  }

  /// Whether standard output is for a section.
  bool is_piped() const { return options_.action == Action::Emit && !options_.output && !options_.convert.dry_run; }
  std::ostream& report() const { return is_piped() ? err_ : out_; }
  bool json() const { return options_.report == ReportFormat::Json; }

  void count(const Outcome& outcome) {
    std::visit([this](const auto& kind) { count(kind); }, outcome);
  }
  void count(const Linked& linked) { count(linked.coverage, linked.growth); }
  void count(const Object& object) { count(object.coverage, object.growth); }
  void count(const Filled& filled) { count(filled.coverage, 0); }
  void count(const Archive& archive) {
    for (const ArchiveMember& member : archive.members)
      if (const auto* const object = std::get_if<Object>(&member.outcome)) result_.rows += object->coverage.rows;
    result_.growth = archive.growth;
  }
  void count(const Coverage& coverage, std::int64_t growth) {
    result_.rows += coverage.rows;
    result_.growth += growth;
  }

  void clear_progress() {
    if (progress_ != nullptr) progress_->clear();
  }

  void error(const std::string& text) {
    result_.what = FileResult::What::Failed;
    message("error", text);
  }

  void message(const char* severity, const std::string& text) {
    clear_progress();
    out_.flush();
    err_ << "sframe-gen: " << severity << ": " << printable(text) << '\n';
  }

  const Options& options_;
  std::ostream& out_;
  std::ostream& err_;
  Progress* progress_;
  std::vector<TriedPlan> plans_;
  FileResult result_;
};

}  // namespace

FileResult work_on(const Subject& subject, const Options& options, std::ostream& out, std::ostream& err,
                   Progress* progress) {
  return FileWork(options, out, err, progress).run(subject);
}

}  // namespace sframe_gen::cli
