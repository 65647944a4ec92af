#include "cli/file_work.hpp"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "api/inspect.hpp"
#include "api/section_cache.hpp"
#include "cli/file_tree.hpp"
#include "cli/report/json.hpp"
#include "convert/convert_archive.hpp"
#include "convert/file_kind.hpp"
#include "convert/remove_section.hpp"
#include "files/atomic_file.hpp"
#include "sframe/dump.hpp"
#include "sframe_gen/code_check.hpp"
#include "sframe_gen/verify.hpp"
#include "support/mapped_file.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

void check_standard_output(EmitForm form) {
  if (form == EmitForm::Section && ::isatty(STDOUT_FILENO) == 1)
    throw Refused("standard output", "refusing to write binary data to a terminal (use -o FILE, or redirect)");
}

void write_emitted(const std::string& contents, const std::filesystem::path& file,
                   const std::filesystem::path& output) {
  std::error_code ignored;
  if (std::filesystem::equivalent(file, output, ignored))
    throw Refused(output.string(), "the input itself, which --emit does not replace");
  const std::span<const std::byte> bytes = std::as_bytes(std::span(contents));
  files::replace_file(output, {&bytes, 1}, MappedFile(file), files::AtomicFile::New::LikeAny);
}

void Output::write_error(const std::string& text) {
  out().flush();
  if (when_ == When::AtOnce) {
    std::cerr << text;
  } else {
    parts_.push_back({std::exchange(kept_, {}).str(), text});
  }
}

void Output::print() {
  for (const Part& part : parts_) {
    std::cout << part.out << std::flush;
    std::cerr << part.error;
  }
  std::cout << kept_.str();
}

using convert::FileKind;

namespace {

/// The work on one file.
class FileWork {
 public:
  FileWork(const Options& options, Output& output, command_line::Progress* progress, const Advance& advance)
      : options_(options), output_(output), out_(output.out()), progress_(progress), advance_(advance) {}

  FileResult run(const Subject& subject) {
    const std::string file = subject.file.string();
    try {
      check_names(subject);
      const ReplacedFile replaced(options_.output.value_or(subject.file));
      do_it(subject);
      if (replaces()) keep_names_together(subject);
      if (writes()) note_losses(replaced, subject);
    } catch (const std::exception& failure) {
      // Failure names the file itself; anything else (out of memory, a filesystem error) does not.
      const bool named = dynamic_cast<const Failure*>(&failure) != nullptr;
      failed(file, named ? failure.what() : file + ": " + failure.what(),
             dynamic_cast<const Refused*>(&failure) != nullptr);
    }
    return std::move(result_);
  }

 private:
  bool writes() const {
    const bool makes_files = options_.action == Action::Convert || options_.action == Action::Remove;
    return makes_files && !options_.convert.dry_run;
  }
  bool replaces() const { return writes() && !options_.output; }

  void note_losses(const ReplacedFile& replaced, const Subject& subject) {
    if (options_.quiet) return;
    report_on([&] {
      const std::string losses = replaced.losses(1 + subject.other_names.size());
      if (!losses.empty()) message("note", options_.output.value_or(subject.file).string() + ": " + losses);
    });
  }

  /// A file is replaced under the names that are known.
  void check_names(const Subject& subject) const {
    if (subject.names_elsewhere == 0 || !replaces()) return;
    throw Refused(subject.file.string(),
                  "hard links outside the directory: " + std::to_string(subject.names_elsewhere) +
                      " (they would keep the old contents)");
  }

  void failed(const std::string& file, const std::string& text, bool refused) {
    const bool passed_over = options_.skip_refused && refused;
    if (!passed_over) {
      error(text);
    } else if (!options_.quiet) {
      message("note", text);
    }
    result_.what = passed_over ? FileResult::What::Refused : FileResult::What::Failed;
    result_.reason = without_name(file, text);
    result_.keeps_section =
        options_.action == Action::Remove && options_.recursive && convert::has_section_for_good(file);
    if (json())
      return write_json_failure(file, passed_over ? "refused" : "failed", text, report(), plans_,
                                result_.keeps_section);
    write_plans(plans_, out_);
  }

  void do_it(const Subject& subject) {
    const std::filesystem::path& file = subject.file;
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored)) refuse_directory(file);
    // A directory or device is an error all the same, and so is a file that cannot be read.
    std::error_code unreadable;
    if (options_.skip_non_elf && convert::kind_of(file, unreadable) == FileKind::Other && !unreadable &&
        std::filesystem::is_regular_file(file, ignored)) {
      result_.what = FileResult::What::Skipped;
      return;
    }
    const auto is_archive = [&] { return convert::kind_of(file) == FileKind::Archive; };
    switch (options_.action) {
      case Action::Convert:
        return convert_one(subject);
      case Action::Emit:
        return emit_one(file);
      case Action::Remove:
        return remove_one(file);
      case Action::Dump:
        return dump(file, options_.files.size() > 1 || options_.recursive || is_archive());
      case Action::LookUp:
        return look_up(file, options_.files.size() > 1 || is_archive());
      case Action::Verify:
        if (options_.against == Witness::Code) return check_code_of(file);
        return is_archive() ? verify_archive_one(file) : verify_one(file);
      case Action::Check:
        return check(file);
      case Action::ToCache:
        return cache_one(file);
      case Action::Launch:
      case Action::ListReaders:
      case Action::Help:
      case Action::Version:
        return;
    }
  }

  [[noreturn]] void refuse_directory(const std::filesystem::path& directory) const {
    const bool one_place = options_.action == Action::Emit || options_.action == Action::LookUp;
    throw Refused(directory.string(), one_place ? "a directory" : "a directory (use --recursive)");
  }

  void convert_one(const Subject& subject) {
    const std::filesystem::path& file = subject.file;
    const std::filesystem::path output = options_.output.value_or(file);
    const WorkObserver observer = this->observer();
    const ConvertOutcome outcome =
        subject.may_replace ? convert::convert_archive(file, output, options_.convert, observer, subject.may_replace)
                            : convert_file(file, output, options_.convert, observer);
    count(outcome);
    report_on([&] {
      if (json()) return write_json(file.string(), output.string(), outcome, plans_, out_);
      if (options_.quiet) return;
      write_summary(file.string(), outcome, done(), out_);
      if (options_.verbose) write_details(file.string(), outcome, out_);
      if (options_.explain) {
        write_savings(outcome, out_);
        write_proof(outcome, out_);
        write_code_places(outcome, out_);
      }
      write_plans(plans_, out_);
    });
  }

  /// The file has been replaced: that there is no memory to say so does not undo it.
  template <typename Report>
  void report_on(Report report) {
    try {
      clear_progress();
      report();
    } catch (const std::bad_alloc&) {
      output_.write_error("sframe-gen: warning: there is no memory for the report; the file is done\n");
    }
  }

  /// With standard output taken, the report goes to standard error, and only if it was asked for.
  void emit_one(const std::filesystem::path& file) {
    if (is_piped()) check_standard_output(options_.emit);
    const EmitOutcome emitted =
        emit_section(file, options_.emit, options_.convert, options_.section_address, observer());
    clear_progress();
    if (options_.output) write_emitted(emitted.contents, file, *options_.output);
    if (is_piped()) out_ << emitted.contents;
    const std::string output = options_.output ? options_.output->string() : "-";
    if (json()) return write_json(file.string(), output, emitted, report());
    if (options_.quiet || (is_piped() && !options_.verbose)) return;
    write_summary(file.string(), emitted, done(), report());
    if (options_.verbose) write_details(emitted, report());
  }

  void remove_one(const std::filesystem::path& file) {
    const std::filesystem::path output = options_.output.value_or(file);
    const RemoveOutcome removed =
        remove_section(file, output, {.dry_run = options_.convert.dry_run, .section_only = options_.section_only});
    result_.growth =
        static_cast<std::int64_t>(removed.original_size) - static_cast<std::int64_t>(removed.converted_size);
    result_.keeps_section = options_.recursive && removed.left == RemoveOutcome::Left::EarlierConversion;
    report_on([&] {
      if (json()) return write_json(file.string(), output.string(), removed, out_);
      if (!options_.quiet) write_summary(file.string(), removed, done(), out_);
    });
  }

  /// Walks through a library that has no section in the cache are slower, and not wrong.
  void cache_one(const std::filesystem::path& file) {
    const api::CachedSections cached = api::cache_sections(file, options_.cache);
    report_on([&] {
      if (options_.quiet) return;
      write_cached(file, cached.sections);
      for (const std::string& failure : cached.failures) message("note", failure);
    });
  }

  /// "a.out: 5 sections in the cache, 3 of them new", and with --verbose a line for each.
  void write_cached(const std::filesystem::path& file, const std::vector<api::CachedSection>& sections) {
    const auto is_new = std::ranges::count_if(sections, &api::CachedSection::is_new);
    out_ << printable(file.string()) << ": " << count_of(sections.size(), "section") << " in the cache, " << is_new
         << " of them new\n";
    if (!options_.verbose) return;
    for (const api::CachedSection& section : sections)
      out_ << "  " << printable(section.file) << ": " << count_of(section.size, "byte")
           << (section.is_new ? ", new\n" : "\n");
  }

  /// A member of an archive that fails does not stop the others.
  void dump(const std::filesystem::path& file, bool with_name) {
    api::inspect(
        file, [&](api::Inspected& found) { dump_one(found, with_name); },
        [&](const Failure& failure) { error(failure.what()); });
  }

  void dump_one(api::Inspected& file, bool with_name) {
    std::vector<Range> ranges;
    for (const std::string& place : options_.only) ranges.push_back(file.places.range_of(place));
    const auto wanted = [&](const sframe::Fde& function) { return reaches(function, ranges); };
    if (options_.dump == DumpForm::Text && with_name) out_ << "\nFile: " << printable(file.name) << '\n';
    for (const FileSection& found : file.sections) {
      if (options_.dump == DumpForm::Text) {
        sframe::dump(found.section, found.name, out_, wanted);
      } else {
        write_json(
            file.name, found, wanted, [&](const sframe::Fde& function) { return describe(file, function); }, out_);
      }
      for (const std::string& remark : found.remarks) message("remark", remark);
    }
  }

  static bool reaches(const sframe::Fde& function, const std::vector<Range>& ranges) {
    const Range code{function.start, function.start + std::max<std::uint64_t>(function.size, 1)};
    const auto overlaps = [&](const Range& range) { return range.overlaps(code); };
    return ranges.empty() || std::ranges::any_of(ranges, overlaps);
  }

  static DescribedFunction describe(api::Inspected& file, const sframe::Fde& function) {
    const std::string place = file.places.text_of(function.start);
    return {file.places.symbol_at(function.start), place == hex(function.start) ? "" : place};
  }

  void look_up(const std::filesystem::path& file, bool with_name) {
    api::inspect(
        file, [&](api::Inspected& found) { look_up_one(found, with_name); },
        [&](const Failure& failure) { error(failure.what()); });
  }

  void look_up_one(api::Inspected& file, bool with_name) {
    const std::uint64_t address = file.places.address_of(options_.place);
    for (const FileSection& found : file.sections) {
      const std::optional<std::string> said = api::look_up(file, found.section, address);
      if (said) {
        out_ << (with_name ? printable(file.name) + ": " : "") << printable(*said) << '\n';
      } else {
        error(file.name + ": no row in " + found.name + " for " + file.places.text_of(address));
      }
    }
  }

  /// A member of an archive that fails does not stop the others.
  void check(const std::filesystem::path& file) {
    check_readers(
        file, options_.readers, [&](const CheckedSection& checked) { report_check(checked); },
        [&](const Failure& failure) { error(failure.what()); });
  }

  void report_check(const CheckedSection& checked) {
    const auto accepts = [](const ReaderVerdict& verdict) { return verdict.kind == ReaderVerdict::Kind::Accepts; };
    // Without names, all readers are asked, and no format suits them all.
    if (!options_.readers.empty() && !std::ranges::all_of(checked.verdicts, accepts))
      result_.what = FileResult::What::Failed;
    if (json()) return write_json(checked, out_);
    write_verdicts(checked, options_.quiet, out_);
  }

  void verify_one(const std::filesystem::path& file) {
    const Verification result =
        verify_file(file, options_.convert.debug_file, options_.convert.ignore_build_id, observer());
    result_.rows = result.rows;
    clear_progress();
    if (json()) {
      write_json(file.string(), result, out_);
    } else if (!options_.quiet) {
      write_summary(file.string(), result, out_);
    }
    complain_of_differences(file.string(), result);
  }

  void check_code_of(const std::filesystem::path& file) {
    const CodeCheck result = check_code(file, observer(), options_.convert.bounded_tables_only);
    clear_progress();
    if (!result.contradictions.empty()) result_.what = FileResult::What::Failed;
    if (json()) return write_json(file.string(), result, out_);
    for (const std::string& line : lines_of(result.contradictions, options_.verbose))
      error(file.string() + ": " + line);
    for (const std::string& line : lines_of(result.doubted, options_.verbose))
      message("warning", file.string() + ": in doubt: " + line);
    if (!options_.quiet) write_summary(file.string(), result, options_.verbose, out_);
  }

  /// A line for the archive, and with --verbose one for each member.
  void verify_archive_one(const std::filesystem::path& file) {
    if (options_.convert.debug_file) throw Refused(file.string(), "--cfi-from does not support archives");
    const std::vector<MemberVerification> members = verify_archive(file, observer());
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
    for (const Verification::Difference& difference : result.differences) error(name + ": " + text_of(difference));
    if (result.difference_count > result.differences.size())
      error(name + ": and " + std::to_string(result.difference_count - result.differences.size()) + " more");
    for (const Verification::Difference& unchecked : result.unchecked)
      message("warning", name + ": " + text_of(unchecked));
    if (result.unchecked_count != 0 && result_.what == FileResult::What::Done)
      result_.what = FileResult::What::Unchecked;
  }

  WorkObserver observer() {
    WorkObserver observer;
    observer.warn = [this](const std::string& text) { message("warning", text); };
    observer.progress = advance_;
    if (options_.explain) observer.plan = [this](const TriedPlan& plan) { plans_.push_back(plan); };
    return observer;
  }

  /// Whether standard output is for a section.
  bool is_piped() const { return options_.action == Action::Emit && !options_.output && !options_.convert.dry_run; }
  std::ostream& report() const { return is_piped() ? std::cerr : out_; }
  Done done() const { return options_.convert.dry_run ? Done::Would : Done::Really; }
  bool json() const { return options_.report == ReportFormat::Json; }

  void count(const ConvertOutcome& outcome) {
    std::visit([this](const auto& kind) { count(kind); }, outcome);
  }
  void count(const LinkedOutcome& linked) { count(linked.coverage, linked.growth); }
  void count(const ObjectOutcome& object) { count(object.coverage, object.growth); }
  void count(const KernelOutcome& filled) { count(filled.coverage, 0); }
  void count(const ArchiveOutcome& archive) {
    for (const MemberOutcome& member : archive.members)
      if (const auto* const object = std::get_if<ObjectOutcome>(&member.outcome)) count(object->coverage, 0);
    result_.growth = archive.growth;
    if (converted_count(archive) != 0) return;
    result_.what = FileResult::What::Refused;
    result_.reason = "archive without a member that can be converted";
  }
  void count(const Coverage& coverage, std::int64_t growth) {
    result_.rows += coverage.rows;
    result_.growth += growth;
    if (coverage.code) result_.code += coverage.code->all;
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
    output_.write_error(std::string("sframe-gen: ") + severity + ": " + printable(text) + '\n');
  }

  const Options& options_;
  Output& output_;
  std::ostream& out_;
  command_line::Progress* progress_;
  const Advance& advance_;
  std::vector<TriedPlan> plans_;
  FileResult result_;
};

const char* done_by(Action action) {
  return action == Action::Remove    ? "restored"
         : action == Action::Verify  ? "verified"
         : action == Action::Check   ? "checked"
         : action == Action::ToCache ? "cached"
                                     : "converted";
}

}  // namespace

FileResult work_on(const Subject& subject, const Options& options, Output& output, command_line::Progress* progress,
                   const Advance& advance) {
  return FileWork(options, output, progress, advance).run(subject);
}

void FileTotals::add(const std::string& file, const FileResult& result) {
  using What = FileResult::What;
  done_ += result.what == What::Done ? 1 : 0;
  unchecked_ += result.what == What::Unchecked ? 1 : 0;
  refused_ += result.what == What::Refused ? 1 : 0;
  failed_ += result.what == What::Failed ? 1 : 0;
  rows_ += result.rows;
  growth_ += result.growth;
  if (!result.reason.empty()) add_reason(reasons_, result.reason);
  code_.add(file, result.code);
  if (result.keeps_section) keeping_.push_back(file);
}

int FileTotals::status() const {
  constexpr int something_failed = 1, something_unchecked = 3;
  if (failed_ != 0) return something_failed;
  return unchecked_ != 0 ? something_unchecked : 0;
}

void FileTotals::write_keeping(bool verbose, std::ostream& out) const {
  constexpr std::size_t most_named = 5;
  if (keeping_.empty()) return;
  out << "  " << keeping_.size() << " with a section and no original to restore:\n";
  const std::size_t named = verbose ? keeping_.size() : std::min(keeping_.size(), most_named);
  for (const std::string& file : std::span(keeping_).first(named)) out << "    " << printable(file) << '\n';
  if (named != keeping_.size()) out << "    and " << keeping_.size() - named << " more (--verbose lists all)\n";
}

void FileTotals::write(Action action, Done done, bool verbose, std::ostream& out) const {
  out << count_of(done_ + unchecked_ + refused_ + failed_, "file") << ": " << done_
      << (done == Done::Would ? " would be " : " ") << done_by(action) << ", ";
  if (unchecked_ != 0) out << unchecked_ << " partly, ";
  out << refused_ << " refused, " << failed_ << " failed";
  if (action == Action::Convert || action == Action::Verify) out << "; " << count_of(rows_, "row");
  const auto bytes = static_cast<std::uint64_t>(growth_ < 0 ? -growth_ : growth_);
  if (action == Action::Convert || action == Action::Remove)
    out << (action == Action::Convert ? ", " : "; ") << count_of(bytes, "byte")
        << (done == Done::Would ? " would be" : "")
        << (growth_ < 0 || action == Action::Remove ? " removed" : " added");
  out << '\n';
  for (const auto& [reason, count] : reasons_) out << "  " << count << ' ' << printable(reason) << '\n';
  if (left_alone_ != 0) out << "  " << left_alone_ << " left alone: objects and archives (--objects adds them)\n";
  write_keeping(verbose, out);
  code_.write(out);
  if (temporary_files_ != 0)
    out << "  skipped " << count_of(temporary_files_, "temporary file")
        << " of sframe-gen (.NAME.sframe-gen-PID-N: delete those whose process has ended)\n";
}

void FileTotals::write_json(Action action, std::ostream& out) const {
  std::vector<std::pair<std::string, std::uint64_t>> counts{{done_by(action), done_}};
  if (action == Action::Verify) counts.emplace_back("unchecked", unchecked_);
  counts.insert(counts.end(), {{"refused", refused_}, {"failed", failed_}, {"rows", rows_}});
  if (action == Action::Convert || action == Action::Remove) counts.emplace_back("left_alone", left_alone_);
  if (action == Action::Remove) counts.emplace_back("keeps_section", keeping_.size());
  if (temporary_files_ != 0) counts.emplace_back("temporary_files", temporary_files_);
  write_json_total(counts, growth_, reasons_, code_.all(), out);
}

}  // namespace sframe_gen::cli
