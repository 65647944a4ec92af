#include "cli/run.hpp"

#include <iostream>
#include <vector>

#include "archive/archive.hpp"
#include "cli/archive_members.hpp"
#include "cli/cfi_image.hpp"
#include "cli/convert.hpp"
#include "cli/convert_archive.hpp"
#include "cli/emit.hpp"
#include "cli/magic.hpp"
#include "cli/progress.hpp"
#include "cli/remove.hpp"
#include "cli/report_json.hpp"
#include "cli/report_text.hpp"
#include "cli/verify_report.hpp"
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
    const FileKind kind = kind_of(file);
    // What is no regular file has to be complained of.
    if (options_.skip_non_elf && kind == FileKind::Other && std::filesystem::is_regular_file(file, ignored)) return;
    const bool archive = kind == FileKind::Archive;
    switch (options_.action) {
      case Action::Convert:
        return archive ? convert_archive_one(file) : convert_one(file);
      case Action::Emit:
        if (archive) throw Refused(file.string(), "is an archive: --emit takes one file of code");
        return emit_one(file);
      case Action::Remove:
        if (archive) throw Refused(file.string(), "is an archive: --remove is for linked files only");
        return remove_one(file);
      case Action::Dump:
        return archive ? dump_archive(file) : dump_one(file);
      case Action::Verify:
        return archive ? verify_archive(file) : verify_one(file);
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
    if (json()) return write_json_failure(file.string(), passed_over ? "refused" : "failed", text, report(), trials_);
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

  void convert_archive_one(const std::filesystem::path& file) {
    const ArchiveReport report = convert_archive(
        options_, file, [&](std::uint64_t done, std::uint64_t all) { progress_.show(done, all, file.string()); });
    progress_.clear();
    if (json()) return write_json(report, std::cout);
    if (options_.quiet) return;
    write_summary(report, std::cout);
    if (options_.verbose) write_details(report, std::cout);
  }

  void remove_one(const std::filesystem::path& file) {
    const Removal removal = remove_section(options_, file);
    progress_.clear();
    if (json()) return write_json(removal, std::cout);
    if (!options_.quiet) write_summary(removal, std::cout);
  }

  void dump_one(const std::filesystem::path& file) const {
    const elf::Image image = elf::Image::open(file);
    dump(image, options_.files.size() > 1);
  }

  static void dump(const elf::Image& image, bool with_name) {
    const std::vector<verify::FileSection> sections = verify::read_file_sections(image);
    if (with_name) std::cout << "\nFile: " << printable(image.name()) << '\n';
    for (const verify::FileSection& found : sections) sframe::dump(found.section, found.name, std::cout);
  }

  void dump_archive(const std::filesystem::path& file) {
    for_each_member_of(file, [](const elf::Image& member) { dump(member, true); });
  }

  void verify_one(const std::filesystem::path& file) {
    const elf::Image image = elf::Image::open(file);
    std::optional<elf::Image> debug;
    if (options_.cfi_from) debug = open_debug_file(image, *options_.cfi_from, options_.ignore_build_id);
    const verify::Verification result = verify(image, debug ? *debug : image);
    if (json()) {
      write_json(file.string(), result, std::cout);
    } else if (!options_.quiet) {
      write_summary(file.string(), result, std::cout);
    }
    complain_of_differences(file.string(), result);
  }

  /// A line for the archive, and with --verbose one for each member.
  void verify_archive(const std::filesystem::path& file) {
    if (options_.cfi_from) throw Refused(file.string(), "is an archive, for which --cfi-from does not work");
    std::vector<MemberVerification> members;
    for_each_member_of(file, [&](const elf::Image& member) {
      members.push_back({member.name(), verify(member, member)});
    });
    if (json()) {
      write_json(file.string(), members, std::cout);
    } else if (!options_.quiet) {
      write_summary(file.string(), members, std::cout);
    }
    for (const auto& [name, result] : members) {
      if (!json() && options_.verbose) write_summary(name, result, std::cout);
      complain_of_differences(name, result);
    }
  }

  verify::Verification verify(const elf::Image& image, const elf::Image& cfi_image) {
    verify::Verification result = verify::verify(image, cfi_image, [&](std::uint64_t done, std::uint64_t functions) {
      progress_.show(done, functions, image.name());
    });
    progress_.clear();
    return result;
  }

  void complain_of_differences(const std::string& name, const verify::Verification& result) {
    for (const verify::Difference& difference : result.differences) error(name + ": " + difference.text);
    const std::uint64_t problems = result.difference_count + result.unchecked_count;
    if (problems > result.differences.size())
      error(name + ": and " + std::to_string(problems - result.differences.size()) + " more");
  }

  /// Members with a stack trace section; one that fails does not keep the others from it.
  void for_each_member_of(const std::filesystem::path& file, const std::function<void(const elf::Image&)>& visit) {
    const MappedFile mapped(file);
    const archive::Archive archive(mapped.bytes(), file.string());
    const auto failed = [&](const Failure& failure) { error(failure.what()); };
    if (for_each_converted(archive, visit, failed) == 0)
      throw Refused(file.string(), "has no member with a .sframe or .ctf_frame section");
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
