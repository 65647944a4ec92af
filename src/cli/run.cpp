#include "cli/run.hpp"

#include <sys/stat.h>

#include <iostream>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "cli/file_tree.hpp"
#include "cli/file_work.hpp"
#include "cli/in_order.hpp"
#include "cli/progress.hpp"
#include "cli/report/json.hpp"
#include "cli/totals.hpp"
#include "cli/transcript.hpp"
#include "convert/file_kind.hpp"
#include "support/processors.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

/// Files under way, in bytes, but for one that is larger: a conversion takes memory in proportion to its file.
constexpr std::uint64_t most_bytes_under_way = 256 << 20;

/// The files of one command line, and the status they add up to.
class Run {
 public:
  explicit Run(const Options& options) : options_(options), progress_(!options.quiet) {}

  int all() {
    for (const std::filesystem::path& file : options_.files) {
      if (options_.recursive) {
        find(file);
      } else {
        subjects_.push_back(subject_of(file));
      }
    }
    work();
    progress_.clear();
    if (options_.recursive && !options_.quiet) write_totals();
    std::cout.flush();
    if (!std::cout) {
      error("cannot write to standard output");
    }
    return failed_ ? 1 : totals_.status();
  }

 private:
  void find(const std::filesystem::path& folder) try {
    FoundFiles found = find_files(folder, {options_.excluded, options_.linked_only});
    for (const std::string& failure : found.failures) failed(folder, failure);
    for (Subject& subject : found.subjects) subjects_.push_back(std::move(subject));
  } catch (const Failure& failure) {
    failed(folder, failure.what());
  }

  /// A folder counts as a file that failed.
  void failed(const std::filesystem::path& folder, const std::string& text) {
    error(text);
    totals_.add({.what = FileResult::What::Failed, .reason = "", .rows = 0, .growth = 0});
    if (options_.report == ReportFormat::Json) write_json_failure(folder.string(), "failed", text, std::cout);
  }

  static Subject subject_of(const std::filesystem::path& file) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file, error);
    return {file, error ? 0 : size, {}, 0};
  }

  void work() {
    std::vector<std::uint64_t> sizes;
    for (const Subject& subject : subjects_) sizes.push_back(subject.size);
    const unsigned jobs = job_count();
    if (subjects_.size() > 1) progress_.start(sizes);
    if (jobs == 1) return one_after_the_other();
    std::vector<std::unique_ptr<Transcript>> transcripts(subjects_.size());
    std::vector<FileResult> results(subjects_.size());
    std::size_t done = 0;
    const auto work = [&](std::size_t i) {
      transcripts[i] = std::make_unique<Transcript>();
      results[i] = work_on(subjects_[i], options_, transcripts[i]->out(), transcripts[i]->err(), nullptr);
    };
    const auto finish = [&](std::size_t i) {
      progress_.clear();
      transcripts[i]->print();
      transcripts[i].reset();
      totals_.add(std::exchange(results[i], {}));
      ++done;
    };
    const auto tick = [&] { progress_.show_file(done, subjects_[done].file.string()); };
    for_each_in_order(sizes, jobs, most_bytes_under_way, work, finish, tick);
  }

  void one_after_the_other() {
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
      if (subjects_.size() > 1) progress_.show_file(i, subjects_[i].file.string());
      totals_.add(work_on(subjects_[i], options_, std::cout, std::cerr, &progress_));
    }
  }

  /// One where files depend on each other, or print without bound.
  unsigned job_count() const {
    const bool prints =
        options_.action == Action::Dump || options_.action == Action::LookUp || options_.action == Action::Emit;
    if (prints || subjects_.size() < 2 || depend_on_each_other()) return 1;
    return options_.jobs != 0 ? options_.jobs : static_cast<unsigned>(usable_processors());
  }

  /// Thin archives are made of other files, and two arguments may name one file.
  bool depend_on_each_other() const {
    std::set<std::pair<dev_t, ino_t>> seen;
    for (const Subject& subject : subjects_) {
      struct stat status {};
      if (::stat(subject.file.c_str(), &status) != 0) continue;
      if (!seen.emplace(status.st_dev, status.st_ino).second) return true;
      if (convert::is_thin_archive(subject.file)) return true;
    }
    return false;
  }

  void write_totals() const {
    if (options_.report == ReportFormat::Json) return totals_.write_json(options_.action, std::cout);
    totals_.write(options_.action, std::cout);
  }

  void error(const std::string& text) {
    failed_ = true;
    progress_.clear();
    std::cout.flush();
    std::cerr << "sframe-gen: error: " << printable(text) << '\n';
  }

  const Options& options_;
  Progress progress_;
  std::vector<Subject> subjects_;
  Totals totals_;
  bool failed_ = false;  ///< apart from any file
};

}  // namespace

int run(const Options& options) {
  return Run(options).all();
}

}  // namespace sframe_gen::cli
