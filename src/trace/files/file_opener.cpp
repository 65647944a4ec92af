#include "trace/files/file_opener.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "sframe_gen/error.hpp"

namespace sframe_gen::trace {

namespace {

/// The group's name and the path follow.
struct Request {
  std::uint64_t number = 0;
  std::int64_t until_ns = 0;  ///< of the steady clock, which both processes have
  std::uint64_t begin = 0, end = 0, device = 0, inode = 0;
  std::int32_t process = 0;
  std::uint32_t user = 0, group_size = 0;
  bool may_be_link = true;
};
constexpr std::size_t longest_request = sizeof(Request) + 2 * std::size_t{PATH_MAX};

/// The file, if it is open, comes with it.
struct Answer {
  std::uint64_t number = 0;
  std::int32_t error = 0;
  struct stat status {};
};

struct Message {
  Request request;
  std::string group, path;

  NamedFile file() const {
    return {path, request.process, request.begin, request.end, request.device, request.inode, request.may_be_link};
  }
};

void send_answer(int socket, std::uint64_t number, const OpenFile& opened) {
  Answer answer{.number = number, .error = opened.error, .status = opened.status};
  iovec body{&answer, sizeof answer};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &body;
  message.msg_iovlen = 1;
  if (opened.error == 0) {
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    const int file = opened.file.number();
    std::memcpy(CMSG_DATA(head), &file, sizeof file);
  }
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

/// False: the other end is closed.
bool receive_answer(int socket, Answer& answer, Descriptor& file) {
  iovec body{&answer, sizeof answer};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &body;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  ssize_t size = 0;
  do size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  if (size != static_cast<ssize_t>(sizeof answer)) return false;
  const cmsghdr* const head = CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_type != SCM_RIGHTS) return true;
  int number = -1;
  std::memcpy(&number, CMSG_DATA(head), sizeof number);
  file = Descriptor(number);
  return true;
}

bool receive(int socket, Message& message) {
  std::array<char, longest_request> room{};
  ssize_t size = 0;
  do size = ::recv(socket, room.data(), room.size(), 0);
  while (size < 0 && errno == EINTR);
  if (size < static_cast<ssize_t>(sizeof(Request))) return false;
  std::memcpy(&message.request, room.data(), sizeof(Request));
  const std::string_view text(room.data() + sizeof(Request), static_cast<std::size_t>(size) - sizeof(Request));
  message.group = text.substr(0, message.request.group_size);
  message.path = text.substr(message.request.group_size);
  return true;
}

/// The process: nothing but opening. It ends with the one that asks; what a thread waits for is not waited for.
[[noreturn]] void open_all(int socket, int root) {
  WaitingThreads threads;
  for (Message message; receive(socket, message);) {
    const std::uint64_t number = message.request.number;
    const bool is_taken = threads.run({message.request.user, message.group}, [socket, root, message] {
      const FileOpening::Clock::time_point until{std::chrono::nanoseconds(message.request.until_ns)};
      const bool is_late = FileOpening::Clock::now() >= until;
      send_answer(socket, message.request.number,
                  is_late ? OpenFile{.error = OpenFile::no_answer} : open_named_file(message.file(), root, until));
    });
    if (!is_taken) send_answer(socket, number, {.error = OpenFile::no_answer});
  }
  ::_exit(0);
}

/// Keeps two files, and none of the program's streams, whose readers would wait for this process.
[[noreturn]] void become_opener(int socket, int root) {
  sigset_t all{};
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  constexpr int first = STDERR_FILENO + 1, out_of_the_way = 16;
  // NOLINTBEGIN(cppcoreguidelines-pro-type-vararg)
  const int nothing = ::fcntl(::memfd_create("nothing", 0), F_DUPFD, out_of_the_way);
  socket = ::fcntl(socket, F_DUPFD, out_of_the_way);
  if (root >= 0) root = ::fcntl(root, F_DUPFD, out_of_the_way);
  // NOLINTEND(cppcoreguidelines-pro-type-vararg)
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, stream);
  ::dup2(socket, first);
  if (root >= 0) ::dup2(root, first + 1);
  ::closefrom(root >= 0 ? first + 2 : first + 1);
  open_all(first, root >= 0 ? first + 1 : -1);
}

/// It is no child of this program, which waits for children of its own.
bool start_opener(int socket, int root) {
  // All arguments are 0, so that their order, in which architectures differ, does not matter. No signal at its end.
  const auto parent = static_cast<pid_t>(::syscall(SYS_clone, 0, 0, 0, 0, 0));
  if (parent < 0) return false;
  if (parent == 0) {
    const pid_t opener = ::fork();
    if (opener == 0) become_opener(socket, root);
    ::_exit(opener > 0 ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(parent, &status, __WALL) < 0 && errno == EINTR) {
  }
  return status == 0;
}

}  // namespace

const OpenFile* FileOpening::answer() {
  const std::lock_guard guard(lock_);
  return answer_ ? &*answer_ : nullptr;
}

const OpenFile* FileOpening::wait(Clock::duration time) {
  std::unique_lock guard(lock_);
  is_done_.wait_until(guard, std::min(Clock::now() + time, begun_ + patience), [&] { return answer_.has_value(); });
  return answer_ ? &*answer_ : nullptr;
}

void FileOpening::take(OpenFile answer) {
  const std::lock_guard guard(lock_);
  answer_ = std::move(answer);
  is_done_.notify_all();
}

FileOpener::FileOpener(int root) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw SystemFailure("files", "open", errno);
  const Descriptor first(ends[0]), theirs(ends[1]);
  // None of the standard streams, which this program may have been started without.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
  socket_ = Descriptor(::fcntl(first.number(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!socket_.is_open() || !start_opener(theirs.number(), root)) throw SystemFailure("files", "open", errno);
  // Signals are for other threads.
  sigset_t all{}, before{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  reader_ = std::thread([this] { take_answers(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

FileOpener::~FileOpener() {
  ::shutdown(socket_.number(), SHUT_RDWR);
  reader_.join();
}

std::shared_ptr<FileOpening> FileOpener::begin(const NamedFile& file, const WaitingGroup& group) {
  const std::lock_guard guard(lock_);
  if (has_ended_) return nullptr;
  constexpr std::size_t many = 1024;
  const auto has_answer = [](const auto& opening) { return opening->answer() != nullptr; };
  if (groups_.size() > many)
    std::erase_if(groups_, [&](const auto& known) { return std::ranges::all_of(known.second, has_answer); });
  auto& waiting = groups_[group];
  std::erase_if(waiting, has_answer);
  const bool is_silent = std::ranges::any_of(waiting, [](const auto& opening) { return opening->is_over(); });
  if (is_silent || waiting.size() >= WaitingThreads::most_jobs) return nullptr;
  auto opening = std::make_shared<FileOpening>();
  Request request{
      .number = ++last_,
      .until_ns = std::chrono::nanoseconds((opening->begun_ + FileOpening::patience).time_since_epoch()).count(),
      .begin = file.begin,
      .end = file.end,
      .device = file.device,
      .inode = file.inode,
      .process = file.process,
      .user = group.user,
      .group_size = static_cast<std::uint32_t>(group.name.size()),
      .may_be_link = file.may_be_link};
  std::string message(reinterpret_cast<const char*>(&request), sizeof request);
  message.append(group.name).append(file.path);
  if (message.size() > longest_request) return nullptr;
  unanswered_.emplace(request.number, opening);
  // What empties the rings calls this, and must not wait.
  if (::send(socket_.number(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    unanswered_.erase(request.number);
    return nullptr;
  }
  waiting.push_back(opening);
  return opening;
}

void FileOpener::take_answers() {
  for (;;) {
    Answer answer;
    OpenFile opened;
    const bool is_there = receive_answer(socket_.number(), answer, opened.file);
    const std::lock_guard guard(lock_);
    if (!is_there) {
      has_ended_ = true;
      for (const auto& [number, opening] : unanswered_) opening->take({.error = OpenFile::no_answer});
      unanswered_.clear();
      return;
    }
    opened.status = answer.status;
    opened.error = answer.error == 0 && !opened.file.is_open() ? EMFILE : answer.error;
    const auto known = unanswered_.find(answer.number);
    if (known == unanswered_.end()) continue;
    known->second->take(std::move(opened));
    unanswered_.erase(known);
  }
}

}  // namespace sframe_gen::trace
