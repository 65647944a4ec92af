#pragma once

#include <functional>
#include <optional>

/// A process that works beside this one while this one becomes something else.
namespace sframe_gen::trace {

/// What the two agree by before they part.
class Agreement {
 public:
  /// Throws SystemFailure.
  Agreement();
  ~Agreement();
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

  /// The one beside: this one may go on, or not, and why is said. Leaves it no file but standard error open.
  void say(bool yes);
  /// This one. None: the other one has ended without a word.
  std::optional<bool> wait();

 private:
  int hears_ = -1, says_ = -1;  ///< ends of a pipe
};

/// Runs `work`, and nothing else, in a process of its own. That is no child of this one, or not any more, so that
/// nobody who waits for children meets it; and of a session of its own, so that no terminal has signals for it.
/// Throws SystemFailure.
void run_beside(const std::function<void()>& work);

}  // namespace sframe_gen::trace
