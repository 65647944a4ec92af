#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace sframe_gen::trace {

/// What waits together: names that one user's programs chose, of one device or directory.
struct WaitingGroup {
  std::uint32_t user = 0;
  std::string name;
  friend auto operator<=>(const WaitingGroup&, const WaitingGroup&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Runs jobs that may wait for ever, as for a file system of a program (FUSE). The jobs of a group run in one thread,
/// one after the other, and wait for no other group's. The threads need not end before this object does.
class WaitingThreads {
 public:
  using Job = std::function<void()>;

  WaitingThreads();

  /// False: too many jobs of the group wait, or too many groups of its user or of all users other than root and this
  /// one, or there is no thread.
  bool run(const WaitingGroup& group, Job job);

  static constexpr std::size_t most_jobs = 64, most_groups_of_user = 32, most_groups_of_others = 512;

 private:
  struct State;
  static void run_all(const std::shared_ptr<State>& state, const WaitingGroup& group);

  std::shared_ptr<State> state_;
};

}  // namespace sframe_gen::trace
