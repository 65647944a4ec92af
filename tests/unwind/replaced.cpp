// Unloads a library and loads another one at its address, which differs in nothing but its rows. Walks find the right
// rows, whether the loaded files were prepared meanwhile or not. usage: unwind-replaced LIBRARY LIBRARY

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>

#include "both_walks.hpp"
#include "unwind/modules.hpp"

namespace {

using namespace sframe_gen::unwind;

BothWalks walks;
bool good = true;

int on_call() {
  walk_both(walks);
  return 1;
}

struct Library {
  void* handle = nullptr;
  int (*call_back)(int (*)()) = nullptr;
  void* begin = nullptr;
};

Library load(const char* file) {
  Library library;
  library.handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library.handle == nullptr) {
    std::printf("%s\n", ::dlerror());
    std::exit(1);
  }
  void* const function = ::dlsym(library.handle, "call_back");
  library.call_back = reinterpret_cast<int (*)(int (*)())>(function);
  dl_find_object found{};
  if (::_dl_find_object(function, &found) != 0) std::exit(1);
  library.begin = found.dlfo_map_start;
  return library;
}

/// At `begin`, which is where they are linked to: the dynamic loader asks for that place first.
Library load_at(const char* file, void* begin) {
  const Library library = load(file);
  if (begin == nullptr || library.begin == begin) return library;
  std::printf("%s is loaded to %p, not to %p again\n", file, library.begin, begin);
  std::exit(1);
}

/// Returns where it was loaded. Walks are repeated, as the first leaves rows behind.
void* walk_through(const char* file, void* begin, bool prepare, const char* what) {
  const Library library = load_at(file, begin);
  if (prepare) good &= sframe_unwind_backtrace_prepare() == 0;
  for (int i = 0; i < 2; ++i) {
    good &= library.call_back(on_call) != 0;
    good &= agree(what, walks, 4);
  }
  ::dlclose(library.handle);
  return library.begin;
}

bool has_permanent(const void* address) {
  const auto pc = reinterpret_cast<std::uint64_t>(address);
  bool found = false;
  unsigned turn = 0;
  for (const LoadedModule& module : enter_modules(turn).modules) {
    found |= pc - module.begin < module.end - module.begin && module.is_permanent;
  }
  leave_modules(turn);
  return found;
}

/// What was there when that was asked for stays, and walks lead through it, and through its like at another place.
void keep_files(const char* kept, const char* other) {
  const Library library = load(kept);
  good &= sframe_unwind_backtrace_prepare_with(nullptr, nullptr, SFRAME_UNWIND_KEEP_FILES) == 0;
  ::dlclose(library.handle);
  const Library again = load(kept);
  good &= again.begin == library.begin;
  const Library beside = load(other);
  good &= beside.begin != library.begin;
  for (const Library* one : {&library, &beside, &library}) {
    good &= one->call_back(on_call) != 0;
    good &= agree("files are kept", walks, 4);
  }
  ::dlclose(again.handle);
  ::dlclose(beside.handle);
  if (void* const handle = ::dlopen(kept, RTLD_NOW | RTLD_NOLOAD)) {
    ::dlclose(handle);
  } else {
    std::printf("%s was unloaded\n", kept);
    good = false;
  }
}

/// The files that glibc never unloads are those that the program is started with.
void tell_what_stays(const char* file) {
  const Library library = load(file);
  good &= sframe_unwind_backtrace_prepare() == 0;
  good &= !has_permanent(library.begin);
  // Another library's.
  good &= has_permanent(reinterpret_cast<const void*>(&_Unwind_Backtrace));
  ::dlclose(library.handle);
}

void load_elsewhere(const char* file, void* begin) {
  void* const handle = ::dlmopen(LM_ID_NEWLM, file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) std::exit(1);
  for (const bool prepare : {false, true}) {
    if (prepare) good &= sframe_unwind_backtrace_prepare() == 0;
    const auto call_back = reinterpret_cast<int (*)(int (*)())>(::dlsym(handle, "call_back"));
    for (int i = 0; i < 2; ++i) {
      good &= call_back(on_call) != 0;
      good &= agree("in another namespace", walks, 4);
    }
  }
  ::dlclose(handle);
  walk_through(file, begin, false, "after that");
  walk_through(file, begin, true, "after that, looked at");
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  walk_through(arguments[1], nullptr, false, "before anybody has looked");
  if (sframe_unwind_backtrace_prepare() != 0) return 1;
  void* const place = walk_through(arguments[1], nullptr, true, "loaded, and looked at");
  walk_through(arguments[2], place, false, "another one, not looked at");
  walk_through(arguments[1], place, false, "the first one again");
  walk_through(arguments[2], place, true, "the other one, looked at");
  walk_through(arguments[1], place, true, "the first one, looked at");
  tell_what_stays(arguments[1]);
  load_elsewhere(arguments[2], place);
  walk_through(arguments[1], place, false, "the first one after the other, not looked at");
  keep_files(arguments[1], arguments[2]);
  sframe_unwind_backtrace_release();
  return good ? 0 : 1;
}
