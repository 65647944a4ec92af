#include "trace/record/file_openings.hpp"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

namespace sframe_gen::trace {

bool FileOpening::is_answered() {
  const std::lock_guard guard(lock_);
  return file_ != nullptr;
}

bool FileOpening::has_failed() {
  const std::lock_guard guard(lock_);
  return file_ != nullptr && !file_->is_open();
}

std::shared_ptr<const Descriptor> FileOpening::wait() {
  std::unique_lock guard(lock_);
  is_done_.wait_until(guard, begun_ + patience, [&] { return file_ != nullptr; });
  return file_;
}

bool FileOpening::wait_for(std::chrono::milliseconds time) {
  std::unique_lock guard(lock_);
  return is_done_.wait_for(guard, time, [&] { return file_ != nullptr; });
}

void FileOpening::answer(Descriptor file) {
  const std::lock_guard guard(lock_);
  file_ = std::make_shared<const Descriptor>(std::move(file));
  is_done_.notify_all();
}

std::shared_ptr<FileOpening> FileOpenings::begin(std::uint64_t device, Open open) try {
  std::erase_if(unanswered_, [](const auto& opening) { return opening->is_answered(); });
  const bool is_silent = std::ranges::any_of(
      unanswered_, [&](const auto& opening) { return opening->device() == device && opening->is_over(); });
  if (is_silent || unanswered_.size() >= most) return nullptr;
  auto opening = std::make_shared<FileOpening>(device);
  std::thread([opening, open = std::move(open)] { opening->answer(open(*opening)); }).detach();
  constexpr std::chrono::milliseconds usually{20};
  if (!opening->wait_for(usually)) unanswered_.push_back(opening);
  return opening;
} catch (const std::system_error&) {
  return nullptr;
}

}  // namespace sframe_gen::trace
