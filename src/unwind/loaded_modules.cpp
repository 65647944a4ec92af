#include "unwind/loaded_modules.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>

#include "unwind/stack_memory.hpp"

// glibc has it since 2.35; it takes no lock.
// NOLINTNEXTLINE(readability-redundant-declaration): it may be missing at run time
extern "C" int _dl_find_object(void*, struct dl_find_object*) __attribute__((weak));

namespace sframe_gen::unwind {
namespace {

constexpr std::size_t row_slots = 4096;
constexpr std::uint32_t gnu_sframe_segment = 0x6474e554;  // PT_GNU_SFRAME

pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
LoadedModules* current;
LoadedModules* retired;  ///< may still be walked with
std::uint64_t walks;     ///< under way

struct Looking {
  LoadedModules* made;
  std::size_t count;
  sframe_provide provide;
  void* context;
};

int count_module(dl_phdr_info*, std::size_t, void* data) {
  ++static_cast<Looking*>(data)->count;
  return 0;
}

void open_view(LoadedModule& module, const void* bytes, std::size_t size, std::uint64_t address) {
  const auto fault = module.view.open({static_cast<const std::byte*>(bytes), size}, address);
  module.is_damaged = static_cast<bool>(fault);
}

int add_module(dl_phdr_info* info, std::size_t, void* data) {
  Looking& look = *static_cast<Looking*>(data);
  // One more may have been loaded since they were counted.
  if (look.made->modules.size() == look.count) return 1;
  LoadedModule module;
  module.begin = ~std::uint64_t{0};
  const ElfW(Phdr)* sframe = nullptr;
  for (std::size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type == gnu_sframe_segment) sframe = &segment;
    if (segment.p_type != PT_LOAD) continue;
    const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    if (begin < module.begin) module.begin = begin;
    if (begin + segment.p_memsz > module.end) module.end = begin + segment.p_memsz;
  }
  if (sframe != nullptr) {
    const std::uint64_t address = info->dlpi_addr + sframe->p_vaddr;
    open_view(module, pointer_to(address), sframe->p_memsz, address);
  } else if (look.provide != nullptr) {
    const void* bytes = nullptr;
    std::size_t size = 0;
    std::uint64_t address = 0;
    const bool provided = look.provide(look.context, info->dlpi_name, info->dlpi_addr, &bytes, &size, &address) == 0;
    if (provided) open_view(module, bytes, size, address);
    module.bias = info->dlpi_addr;
  }
  // In place, by address.
  LoadedModule* const first = look.made->modules.data();
  std::size_t at = look.made->modules.size();
  for (; at != 0 && first[at - 1].begin > module.begin; --at) first[at] = first[at - 1];
  first[at] = module;
  look.made->modules = {first, look.made->modules.size() + 1};
  return 0;
}

std::size_t aligned(std::size_t size) {
  return (size + 63) / 64 * 64;
}

/// One mapping for all that a walk needs; zeros.
LoadedModules* allocate(std::size_t module_count) {
  const std::size_t modules_at = aligned(sizeof(LoadedModules));
  const std::size_t rows_at = modules_at + aligned(module_count * sizeof(LoadedModule));
  const std::size_t size = rows_at + row_slots * sizeof(RowSlot);
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const bytes = static_cast<std::byte*>(memory);
  auto* const made = ::new (memory) LoadedModules;
  made->mapped_size = size;
  made->modules = {reinterpret_cast<LoadedModule*>(bytes + modules_at), 0};
  made->rows = {reinterpret_cast<RowSlot*>(bytes + rows_at), row_slots};
  return made;
}

/// Puts `next` in the place of what was current. What has been retired goes once no walk is under way: a later one
/// finds `next`.
void publish(LoadedModules* next) {
  LoadedModules* const before = __atomic_exchange_n(&current, next, __ATOMIC_SEQ_CST);
  if (before != nullptr) {
    before->retired_before = retired;
    retired = before;
  }
  if (__atomic_load_n(&walks, __ATOMIC_SEQ_CST) != 0) return;
  while (retired != nullptr) {
    LoadedModules* const gone = retired;
    retired = gone->retired_before;
    ::munmap(gone, gone->mapped_size);
  }
}

}  // namespace

const LoadedModules* enter_modules() {
  __atomic_fetch_add(&walks, 1, __ATOMIC_SEQ_CST);
  return __atomic_load_n(&current, __ATOMIC_SEQ_CST);
}

void leave_modules() {
  __atomic_fetch_sub(&walks, 1, __ATOMIC_RELEASE);
}

int look_at_modules(sframe_provide provide, void* context) {
  ::pthread_mutex_lock(&looking);
  Looking look{nullptr, 0, provide, context};
  ::dl_iterate_phdr(count_module, &look);
  look.made = allocate(look.count);
  if (look.made != nullptr) {
    ::dl_iterate_phdr(add_module, &look);
    publish(look.made);
  }
  ::pthread_mutex_unlock(&looking);
  return look.made != nullptr ? 0 : ENOMEM;
}

void forget_modules() {
  ::pthread_mutex_lock(&looking);
  publish(nullptr);
  ::pthread_mutex_unlock(&looking);
}

bool is_still_loaded(const LoadedModule& module, std::uint64_t pc) {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  if (_dl_find_object == nullptr) return true;
  dl_find_object found{};
  if (_dl_find_object(pointer_to(pc), &found) != 0) return false;
  const auto begin = reinterpret_cast<std::uint64_t>(found.dlfo_map_start);
  const auto end = reinterpret_cast<std::uint64_t>(found.dlfo_map_end);
  // The loader counts in pages, segments in bytes.
  return begin <= module.begin && module.end <= end && module.begin - begin < 0x10000 && end - module.end < 0x10000;
#else
  (void)module;
  (void)pc;
  return true;
#endif
}

}  // namespace sframe_gen::unwind
