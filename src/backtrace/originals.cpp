#include "backtrace/originals.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

constinit sframe_gen::backtrace::Originals sframe_backtrace_originals{};

namespace sframe_gen::backtrace {
namespace {

constexpr char libgcc_name[] = "libgcc_s.so.1";

constexpr char libunwind_name[] = "libunwind.so.8";

bool glibcs, libgccs, libunwinds;  ///< of is_glibcs() and those like it

/// Looks for a function in what was loaded after this library, and in `library`, if that is not null.
template <typename Function>
void find(Function*& place, const char* name, void* library) {
  if (__atomic_load_n(&place, __ATOMIC_RELAXED) != nullptr) return;
  void* found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr && library != nullptr) found = ::dlsym(library, name);
  __atomic_store_n(&place, reinterpret_cast<Function*>(found), __ATOMIC_RELAXED);
}

/// Whether a function is in the library of this name.
template <typename Function>
bool is_in(Function* function, const char* library) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(function), &info) == 0 || info.dli_fname == nullptr) return false;
  const char* const slash = std::strrchr(info.dli_fname, '/');
  return std::strcmp(slash != nullptr ? slash + 1 : info.dli_fname, library) == 0;
}

/// Without libgcc's library, only the first two are looked for: dlsym() allocates memory for what it does not find.
void find_those(void* library) {
  Originals& originals = sframe_backtrace_originals;
  find(originals.backtrace, "backtrace", nullptr);
  // Libunwind's is its unw_backtrace() by another name.
  const bool gives_same = is_in(originals.backtrace, "libc.so.6") || is_in(originals.backtrace, libunwind_name);
  __atomic_store_n(&glibcs, gives_same, __ATOMIC_RELAXED);
  decltype(originals.unwind_backtrace) unwind_backtrace = nullptr;
  find(unwind_backtrace, "_Unwind_Backtrace", library);
  if (unwind_backtrace != nullptr) {
    find(originals.get_ip, "_Unwind_GetIP", library);
    find(originals.get_ip_info, "_Unwind_GetIPInfo", library);
    find(originals.get_cfa, "_Unwind_GetCFA", library);
    find(originals.get_gr, "_Unwind_GetGR", library);
    find(originals.get_region_start, "_Unwind_GetRegionStart", library);
    find(originals.get_language_specific_data, "_Unwind_GetLanguageSpecificData", library);
    find(originals.get_data_rel_base, "_Unwind_GetDataRelBase", library);
    find(originals.get_text_rel_base, "_Unwind_GetTextRelBase", library);
    find(originals.find_fde, "_Unwind_Find_FDE", library);
    __atomic_store_n(&libgccs, is_in(unwind_backtrace, libgcc_name), __ATOMIC_RELAXED);
    // The last: who sees it has the others.
    __atomic_store_n(&originals.unwind_backtrace, unwind_backtrace, __ATOMIC_RELEASE);
  } else {
    ::dlerror();  // it is not the program's error
  }
}

int is_libunwind(dl_phdr_info* info, std::size_t, void*) {
  return std::strstr(info->dlpi_name, libunwind_name) != nullptr ? 1 : 0;
}

}  // namespace

void find_loaded_originals() {
  find_those(nullptr);
  // Few programs have it, and dlsym() allocates memory for what it does not find.
  if (::dl_iterate_phdr(is_libunwind, nullptr) == 0) return;
  find_unw_backtrace();
  find_libunwinds_steps();
}

void* find_in_libunwind(const char* name) {
  void* found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    // A library that was opened later may have it for itself.
    void* const library = ::dlopen(libunwind_name, RTLD_LAZY | RTLD_LOCAL);
    found = library != nullptr ? ::dlsym(library, name) : nullptr;
  }
  if (found == nullptr) ::dlerror();  // it is not the program's error
  return found;
}

void find_unw_backtrace() {
  Originals& originals = sframe_backtrace_originals;
  if (__atomic_load_n(&originals.unw_backtrace, __ATOMIC_RELAXED) != nullptr) return;
  auto* found = reinterpret_cast<int (*)(void**, int)>(find_in_libunwind("unw_backtrace"));
  __atomic_store_n(&libunwinds, is_in(found, libunwind_name), __ATOMIC_RELAXED);
  if (found == nullptr) found = originals.backtrace;
  __atomic_store_n(&originals.unw_backtrace, found, __ATOMIC_RELEASE);
}

void find_all_originals() {
  find_those(nullptr);
  // Not if it need not be: an allocator's first call, which has its lock, may have led here (jemalloc's).
  if (sframe_backtrace_originals.unwind_backtrace == nullptr) find_those(::dlopen(libgcc_name, RTLD_LAZY | RTLD_LOCAL));
}

bool is_described(std::uint64_t pc) {
  FunctionBases bases{};
  auto* const find = __atomic_load_n(&sframe_backtrace_originals.find_fde, __ATOMIC_RELAXED);
  return find != nullptr && find(reinterpret_cast<void*>(pc), &bases) != nullptr;  // NOLINT(performance-no-int-to-ptr)
}

bool is_call_described(std::uint64_t pc) {
  static std::uint64_t described[16];
  std::uint64_t& slot = described[(pc ^ pc >> 8U) % 16];
  if (__atomic_load_n(&slot, __ATOMIC_RELAXED) == pc) [[likely]]
    return true;
  const bool is_loaded = __atomic_load_n(&sframe_backtrace_originals.find_fde, __ATOMIC_RELAXED) != nullptr;
  if (is_loaded && !is_described(pc - 1)) return false;
  __atomic_store_n(&slot, pc, __ATOMIC_RELAXED);
  return true;
}

bool is_glibcs() {
  return __atomic_load_n(&glibcs, __ATOMIC_RELAXED);
}

bool is_libgccs() {
  return __atomic_load_n(&libgccs, __ATOMIC_RELAXED);
}

bool is_libunwinds() {
  return __atomic_load_n(&libunwinds, __ATOMIC_RELAXED);
}

}  // namespace sframe_gen::backtrace
