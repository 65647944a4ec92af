// Prepares while a library is being loaded, when dl_iterate_phdr() lists it and _dl_find_object() does not know it yet:
// in the resolver of its indirect function. Walks then through that library, and after it is gone through the resolver
// of another one in its place. usage: unwind-resolvers LIBRARY LIBRARY

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include "both_walks.hpp"
#include "unwind/modules.hpp"

namespace {

using namespace sframe_gen::unwind;

constexpr std::uint64_t hook_address = 0x1800000000;  // known to the libraries
using Hook = void (*)();

BothWalks walks;
bool good = true;
int hooks_run = 0;

Hook* map_hook() {
  void* const wanted = reinterpret_cast<void*>(hook_address);
  void* const page =
      ::mmap(wanted, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (page != wanted) std::exit(2);
  return static_cast<Hook*>(page);
}

void prepare() {
  good &= sframe_unwind_backtrace_prepare() == 0;
  ++hooks_run;
}

/// The walk gets to the resolver's frame, and ends there.
void walk_from_resolver() {
  void* frames[8];
  const int count = sframe_unwind_backtrace(frames, 8);
  const bool same = count == 2 && frames[1] == __builtin_return_address(0);
  std::printf("in a resolver: %d frames%s\n", count, same ? "" : " FAILED");
  good &= same;
  ++hooks_run;
}

int on_call() {
  walk_both(walks);
  return 1;
}

struct Library {
  void* handle;
  std::uint64_t begin, end;
};

Library load(const char* file) {
  void* const handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  dl_find_object found{};
  if (handle == nullptr || ::_dl_find_object(::dlsym(handle, "call_back"), &found) != 0) std::exit(2);
  return {handle, reinterpret_cast<std::uint64_t>(found.dlfo_map_start),
          reinterpret_cast<std::uint64_t>(found.dlfo_map_end)};
}

/// Whether walks would trust what the list has of it.
bool is_listed(const Library& library) {
  bool found = false;
  unsigned turn = 0;
  for (const LoadedModule& module : enter_modules(turn).modules) {
    found |= module.begin == library.begin && is_same_file(module.identity, library.begin);
  }
  leave_modules(turn);
  return found;
}

/// Walks are repeated, as the first leaves rows behind.
void walk_through(const Library& library, const char* what) {
  const auto call_back = reinterpret_cast<int (*)(int (*)())>(::dlsym(library.handle, "call_back"));
  for (int i = 0; i < 2; ++i) {
    good &= call_back(on_call) == 2;
    good &= agree(what, walks, 4);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  Hook* const hook = map_hook();
  *hook = prepare;
  const Library first = load(arguments[1]);
  walk_through(first, "listed while it was being loaded");
  good &= !is_listed(first);
  sframe_unwind_backtrace_prepare();
  good &= is_listed(first);
  walk_through(first, "listed again");
  ::dlclose(first.handle);

  *hook = walk_from_resolver;
  const Library second = load(arguments[2]);
  if (first.begin >= second.begin || second.end > first.end) return 2;
  walk_through(second, "loaded since");
  ::dlclose(second.handle);
  sframe_unwind_backtrace_release();
  return good && hooks_run == 2 ? 0 : 1;
}
