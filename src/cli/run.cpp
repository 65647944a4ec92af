#include "cli/run.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "api/section_cache.hpp"
#include "cli/file_tree.hpp"
#include "cli/file_work.hpp"
#include "cli/report/json.hpp"
#include "command_line/program.hpp"
#include "convert/file_kind.hpp"
#include "support/text.hpp"
#include "support/workers.hpp"

namespace sframe_gen::cli {

namespace {

/// Results that wait for an earlier item take memory.
constexpr std::size_t most_ahead = 256;
constexpr std::chrono::milliseconds tick_time{100};

/// Items under way and done.
class Queue {
 public:
  Queue(std::span<const std::uint64_t> weights, std::size_t jobs, std::uint64_t most_weight,
        const std::function<void(std::size_t)>& work)
      : weights_(weights), jobs_(jobs), most_weight_(most_weight), work_(work), tasks_(weights.size()) {
    const std::lock_guard lock(mutex_);
    start();
  }
  ~Queue() {
    const std::lock_guard lock(mutex_);
    next_ = weights_.size();
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Waits for one item; call it for each, in their order.
  void wait_for(std::size_t item, const std::function<void()>& tick) {
    while (!tasks_[item].wait_for(tick_time)) tick();
    tasks_[item].get();
  }

  void finished() {
    const std::lock_guard lock(mutex_);
    ++finished_;
    start();
  }

 private:
  /// What may be under way now.
  void start() {
    for (; next_ != weights_.size() && may_start(); ++next_) {
      weight_ += weights_[next_];
      ++under_way_;
      tasks_[next_] = async([this, item = next_] { work(item); });
    }
  }

  bool may_start() const {
    if (next_ - finished_ >= most_ahead || under_way_ == jobs_) return false;
    return under_way_ == 0 || weight_ + weights_[next_] <= most_weight_;
  }

  void work(std::size_t item) {
    work_(item);
    const std::lock_guard lock(mutex_);
    weight_ -= weights_[item];
    --under_way_;
    start();
  }

  std::span<const std::uint64_t> weights_;
  std::size_t jobs_;
  std::uint64_t most_weight_;
  const std::function<void(std::size_t)>& work_;
  std::mutex mutex_;
  std::size_t next_ = 0, finished_ = 0, under_way_ = 0;
  std::uint64_t weight_ = 0;  ///< of what is under way
  std::vector<Async> tasks_;  ///< last: they use the others
};

void one_after_the_other(std::size_t count, const std::function<void(std::size_t)>& work,
                         const std::function<void(std::size_t)>& finish) {
  for (std::size_t i = 0; i < count; ++i) {
    work(i);
    finish(i);
  }
}

/// Files under way, in bytes, but for one that is larger: a conversion takes memory in proportion to its file.
constexpr std::uint64_t most_bytes_under_way = 256 << 20;

/// The files of one command line, and the status they add up to.
class ProgramRun {
 public:
  explicit ProgramRun(const Options& options) : options_(options), progress_(!options.quiet) {}

  int all() {
    for (const std::filesystem::path& file : options_.files) {
      if (options_.recursive) {
        find(file);
      } else {
        subjects_.push_back(subject_of(file));
      }
    }
    if (options_.recursive) limit_thin_archives();
    work();
    progress_.clear();
    if (options_.recursive && !options_.quiet) write_totals();
    return totals_.status();
  }

 private:
  /// Linkers read objects and archives, so converting these changes every link. Commands that look for sections look
  /// everywhere.
  TreeFiles wanted() const {
    if (options_.linked_only || options_.action == Action::ToCache) return TreeFiles::Linked;
    const bool changes_files = options_.action == Action::Convert || options_.action == Action::Remove;
    return changes_files && !options_.objects ? TreeFiles::Loaded : TreeFiles::All;
  }

  void find(const std::filesystem::path& directory) try {
    FoundFiles found = find_files(directory, {options_.excluded, wanted()});
    if (wanted() != TreeFiles::Linked) left_alone_.merge(found.left_alone);
    // A directory may be named twice, or inside another one that is named.
    for (const std::string& failure : found.failures)
      if (failures_.insert(failure).second) failed(directory, failure);
    for (Subject& subject : found.subjects)
      if (found_.insert(subject.identity).second) subjects_.push_back(std::move(subject));
    for (const auto& identity : found.temporary_files)
      if (found_.insert(identity).second) totals_.add_temporary_file();
  } catch (const Failure& failure) {
    failed(directory, failure.what());
  }

  /// A thin archive may name any file. In a tree, those are left that are not converted for their own sake: files
  /// outside of it, excluded ones, and those that have hard links outside.
  void limit_thin_archives() {
    const auto is_thin = [](const Subject& subject) { return convert::is_thin_archive(subject.file); };
    if (std::ranges::none_of(subjects_, is_thin)) return;
    const auto converted = std::make_shared<std::set<std::filesystem::path>>();
    std::error_code ignored;
    for (const Subject& subject : subjects_) {
      if (subject.names_elsewhere != 0) continue;
      converted->insert(std::filesystem::canonical(subject.file, ignored));
      for (const auto& name : subject.other_names) converted->insert(std::filesystem::canonical(name, ignored));
    }
    converted->erase(std::filesystem::path());  // of files that are gone meanwhile
    const auto may_replace = [converted](const std::filesystem::path& file) {
      std::error_code unknown;
      return converted->contains(std::filesystem::canonical(file, unknown));
    };
    for (Subject& subject : subjects_)
      if (is_thin(subject)) subject.may_replace = may_replace;
  }

  /// A directory counts as a file that failed.
  void failed(const std::filesystem::path& directory, const std::string& text) {
    progress_.clear();
    std::cout.flush();
    std::cerr << "sframe-gen: error: " << printable(text) << '\n';
    totals_.add(
        directory.native(),
        {.what = FileResult::What::Failed, .reason = "", .rows = 0, .growth = 0, .code = {}, .keeps_section = false});
    if (options_.report == ReportFormat::Json) write_json_failure(directory.string(), "failed", text, std::cout);
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
    command_line::FileShares shares(sizes);
    progress_.start();
    if (jobs == 1) return one_after_the_other(shares);
    std::vector<std::optional<Output>> outputs(subjects_.size());
    std::vector<FileResult> results(subjects_.size());
    std::size_t done = 0;
    const auto work = [&](std::size_t i) {
      const auto advance = [&](std::uint64_t now, std::uint64_t all) { shares.advance(i, now, all); };
      results[i] = work_on(subjects_[i], options_, outputs[i].emplace(Output::When::Later), nullptr, advance);
      shares.finish(i);
    };
    const auto finish = [&](std::size_t i) {
      progress_.clear();
      outputs[i]->print();
      outputs[i].reset();
      totals_.add(subjects_[i].file.native(), std::exchange(results[i], {}));
      ++done;
    };
    const auto tick = [&] { progress_.show(shares.sum(), subjects_[done].file.string()); };
    for_each_in_order(sizes, jobs, most_bytes_under_way, work, finish, tick);
  }

  void one_after_the_other(command_line::FileShares& shares) {
    Output output(Output::When::AtOnce);
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
      const std::string file = subjects_[i].file.string();
      const auto advance = [&](std::uint64_t now, std::uint64_t all) {
        if (subjects_.size() == 1) return progress_.show(now, all, file);
        shares.advance(i, now, all);
        progress_.show(shares.sum(), file);
      };
      advance(0, 1);
      totals_.add(subjects_[i].file.native(), work_on(subjects_[i], options_, output, &progress_, advance));
      shares.finish(i);
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

  void write_totals() {
    totals_.leave_alone(left_alone_.size());
    if (options_.report == ReportFormat::Json) return totals_.write_json(options_.action, std::cout);
    const Done done = options_.convert.dry_run ? Done::Would : Done::Really;
    totals_.write(options_.action, done, options_.verbose, std::cout);
  }

  const Options& options_;
  command_line::Progress progress_;
  std::vector<Subject> subjects_;
  std::set<std::pair<dev_t, ino_t>> found_;  ///< files in directories
  std::set<std::string> failures_;           ///< the same
  std::set<std::pair<dev_t, ino_t>> left_alone_;
  FileTotals totals_;
};

}  // namespace

void for_each_in_order(std::span<const std::uint64_t> weights, unsigned jobs, std::uint64_t most_weight,
                       const std::function<void(std::size_t)>& work, const std::function<void(std::size_t)>& finish,
                       const std::function<void()>& tick) {
  const std::size_t wanted = std::min<std::size_t>(jobs, weights.size());
  const std::size_t threads = wanted <= 1 ? 1 : std::min(wanted, start_workers(wanted));
  if (threads <= 1) return one_after_the_other(weights.size(), work, finish);
  Queue queue(weights, threads, most_weight, work);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    queue.wait_for(i, tick);
    finish(i);
    queue.finished();
  }
}

int run(const Options& options) {
  if (options.action == Action::ToCache) api::make_cache_directory(options.cache);
  return ProgramRun(options).all();
}

}  // namespace sframe_gen::cli
