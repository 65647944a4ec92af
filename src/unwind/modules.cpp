#include "unwind/modules.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <new>

#include "unwind/stack_memory.hpp"

// A program that is linked statically may have none.
#pragma weak dlsym

// Glibc's; no other C library has it.
// NOLINTNEXTLINE(readability-redundant-declaration)
extern "C" const char* gnu_get_libc_version(void) __attribute__((weak));

namespace sframe_gen::unwind {
/// Memory of a view's page table, shared by the lists of modules that have the view. Counted under the lock that lists
/// are made and freed under.
struct PageTable {
  std::size_t mapped_size = 0;  ///< bytes
  std::size_t users = 0;
};

namespace {

constexpr std::size_t row_slots = 4096;

/// What a list was made with: the dynamic loader counts what it loads and unloads, so it is made again only if
/// one of these differs, or a file was still being loaded.
struct Basis {
  unsigned long long loaded = 0, unloaded = 0;
  sframe_unwind_provide provide = nullptr;
  void* context = nullptr;
  unsigned flags = 0;
  friend bool operator==(const Basis&, const Basis&) = default;
};

constinit const LoadedModules no_modules;

pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
LoadedModules* current;
Basis basis;             ///< of `current`
LoadedModules* retired;  ///< may still be walked with
std::uint64_t walks;     ///< under way

struct Looking {
  Basis basis;
  std::size_t count = 0;
  std::size_t at_start = 1;  ///< of the files: how many of the first ones the program has been started with
  bool is_whole = true;      ///< no file was still being loaded
  LoadedModules* made = nullptr;
};

bool is_loader(const dl_phdr_info& info) {
  const std::uint64_t loader = ::getauxval(AT_BASE);  // 0: there is none, or it was run by hand
  return loader != 0 && info.dlpi_addr == loader;
}

int count_module(dl_phdr_info* info, std::size_t, void* data) {
  auto& look = *static_cast<Looking*>(data);
  look.basis.loaded = info->dlpi_adds;
  look.basis.unloaded = info->dlpi_subs;
  ++look.count;
  if (::gnu_get_libc_version != nullptr && is_loader(*info)) look.at_start = look.count;
  return 0;
}

/// Gives `view` a table, if one is of use and there is memory for it: 16 bytes for each 1,024 of code.
/// Null: look-ups go without.
PageTable* make_page_table(sframe::SectionView& view) {
  constexpr std::uint64_t page_size = 512;     // bytes of code
  constexpr std::uint32_t few_functions = 32;  // are found as fast without
  const std::uint64_t slots = view.page_slots(page_size);
  if (view.function_count() <= few_functions || slots == 0) return nullptr;
  const std::size_t size = sizeof(PageTable) + slots * sizeof(sframe::PageSlot);
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const table = ::new (memory) PageTable{size, 1};
  view.use_pages({reinterpret_cast<sframe::PageSlot*>(table + 1), slots});
  return table;
}

void add_user(PageTable* table) {
  if (table != nullptr) ++table->users;
}

/// The last one frees it.
void drop_user(PageTable* table) {
  if (table != nullptr && --table->users == 0) ::munmap(table, table->mapped_size);
}

void open(ModuleSection& section, const void* bytes, std::size_t size, std::uint64_t address) {
  const auto fault = section.view.open({static_cast<const std::byte*>(bytes), size}, address);
  section.is_damaged = static_cast<bool>(fault);
  section.table = make_page_table(section.view);
}

/// The same file as it was in the list before, or null.
const LoadedModule* same_as_before(const LoadedModule& module) {
  if (current == nullptr) return nullptr;
  for (const LoadedModule& known : current->modules) {
    if (known.begin == module.begin && known.end == module.end && is_same_file(known.identity, module.begin)) {
      return &known;
    }
  }
  return nullptr;
}

/// In its place by address.
void insert(std::span<LoadedModule>& modules, const LoadedModule& module) {
  LoadedModule* const first = modules.data();
  std::size_t at = modules.size();
  for (; at != 0 && first[at - 1].begin > module.begin; --at) first[at] = first[at - 1];
  first[at] = module;
  modules = {first, modules.size() + 1};
}

/// Never unloaded are, with glibc, the files that the program was started with: its dlclose() lets go of none but those
/// that dlopen() has loaded (elf/dl-close.c: `l_type == lt_loaded`; what the start loads, LD_PRELOAD's included, is
/// lt_library, "implicitly NODELETE" in dl-find_object.c). It lists files in the order of their loading, and puts
/// itself among what the start has loaded, where it was needed first (elf/rtld.c); what comes later goes to the end. So
/// all up to it were there. (A file with DF_1_NODELETE may go yet, if the dlopen() that it is part of fails.) And this
/// code, and the C library that it calls, are needed by every walk.
bool is_needed(const LoadedModule& module, std::size_t position, std::size_t at_start) {
  if (position < at_start) return true;
  return module.contains(reinterpret_cast<std::uint64_t>(&current)) ||
         module.contains(reinterpret_cast<std::uint64_t>(&::dl_iterate_phdr));
}

int add_module(dl_phdr_info* info, std::size_t, void* data) {
  Looking& look = *static_cast<Looking*>(data);
  // A file was loaded between counting and adding. Then the loader's counts have changed as well.
  if (look.made->modules.size() == look.count) return 1;
  const FileInMemory file = describe({info->dlpi_phdr, info->dlpi_phnum}, info->dlpi_addr);
  LoadedModule module;
  module.begin = file.begin;
  module.end = file.end;
  module.bias = info->dlpi_addr;
  module.identity = file.identity;
  if (was_being_loaded(file.identity)) look.is_whole = false;
  module.is_permanent = is_needed(module, look.made->modules.size(), look.at_start);
  if (const LoadedModule* const known = same_as_before(module)) {
    module = *known;
    add_user(module.own.table);
    add_user(module.provided.table);
  } else if (file.sframe != nullptr) {
    open(module.own, pointer_to(info->dlpi_addr + file.sframe->p_vaddr), file.sframe->p_memsz, file.sframe->p_vaddr);
  }
  insert(look.made->modules, module);
  return 0;
}

struct Naming {
  std::uint64_t begin;
  char name[PATH_MAX];
  bool is_known;
};

int copy_name(dl_phdr_info* info, std::size_t, void* data) {
  Naming& naming = *static_cast<Naming*>(data);
  const std::size_t length = std::strlen(info->dlpi_name);
  const FileInMemory file = describe({info->dlpi_phdr, info->dlpi_phnum}, info->dlpi_addr);
  if (file.begin != naming.begin || length >= sizeof naming.name) return 0;
  std::memcpy(naming.name, info->dlpi_name, length + 1);
  naming.is_known = true;
  return 1;
}

bool find_name(const LoadedModule& module, Naming& naming) {
  naming.begin = module.begin;
  naming.is_known = false;
  ::dl_iterate_phdr(copy_name, &naming);
  return naming.is_known;
}

/// Returns a function of the C library, or null if the program has none. It is found by name, since ld warns about
/// every reference to dlopen(), weak ones included, in a program that is linked statically with glibc.
template <typename Function>
Function* find_function(const char* name) {
  return reinterpret_cast<Function*>(::dlsym != nullptr ? ::dlsym(RTLD_DEFAULT, name) : nullptr);
}

/// Has the dynamic loader keep it. It may have another file by that name meanwhile, or in another namespace.
void keep(LoadedModule& module) {
  if (module.is_permanent) return;
  auto* const open_library = find_function<decltype(::dlopen)>("dlopen");
  auto* const close_library = find_function<decltype(::dlclose)>("dlclose");
  Naming naming{};
  if (open_library == nullptr || close_library == nullptr || !find_name(module, naming) || naming.name[0] == '\0')
    return;
  void* const handle = open_library(naming.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (handle == nullptr) return;
  const bool is_same = static_cast<const link_map*>(handle)->l_addr == module.bias;
  module.is_permanent = is_same && is_same_file(module.identity, module.begin);
  close_library(handle);
}

/// Not while the loader's list is held: the provider may start threads, and exceptions need that list.
void ask_for(LoadedModule& module, const Basis& asked) {
  const bool wanted = !module.own.view.is_open() || (asked.flags & SFRAME_UNWIND_PROVIDE_ALL) != 0;
  if (asked.provide == nullptr || module.was_asked_for || !wanted) return;
  Naming naming{};
  if (!find_name(module, naming)) return;
  module.was_asked_for = true;
  const void* bytes = nullptr;
  std::size_t size = 0;
  std::uint64_t address = 0;
  if (asked.provide(asked.context, naming.name, module.bias, &bytes, &size, &address) != 0) return;
  open(module.provided, bytes, size, address);
}

std::size_t aligned(std::size_t size) {
  return (size + 63) / 64 * 64;
}

/// One mapping for all that a walk needs but page tables; zeros.
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

void free_list(LoadedModules* list) {
  for (const LoadedModule& module : list->modules) {
    drop_user(module.own.table);
    drop_user(module.provided.table);
  }
  ::munmap(list, list->mapped_size);
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
    free_list(gone);
  }
}

int look(Looking& look) {
  ::dl_iterate_phdr(count_module, &look);
  if (current != nullptr && look.basis == basis) return 0;
  look.made = allocate(look.count);
  if (look.made == nullptr) return ENOMEM;
  look.made->main_stack = find_main_stack();
  ::dl_iterate_phdr(add_module, &look);
  for (LoadedModule& module : look.made->modules) {
    ask_for(module, look.basis);
    if ((look.basis.flags & SFRAME_UNWIND_KEEP_FILES) != 0) keep(module);
  }
  publish(look.made);
  basis = look.is_whole ? look.basis : Basis{};
  return 0;
}

}  // namespace

const LoadedModules& enter_modules() {
  __atomic_fetch_add(&walks, 1, __ATOMIC_SEQ_CST);
  const LoadedModules* const list = __atomic_load_n(&current, __ATOMIC_SEQ_CST);
  return list != nullptr ? *list : no_modules;
}

void leave_modules() {
  __atomic_fetch_sub(&walks, 1, __ATOMIC_RELEASE);
}

int look_at_modules(sframe_unwind_provide provide, void* context, unsigned flags) {
  const int kept = errno;
  ::pthread_mutex_lock(&looking);
  Looking looked{{0, 0, provide, context, flags}};
  const int error = look(looked);
  ::pthread_mutex_unlock(&looking);
  errno = kept;
  return error;
}

void forget_modules() {
  ::pthread_mutex_lock(&looking);
  publish(nullptr);
  ::pthread_mutex_unlock(&looking);
}

bool open_unlisted(std::uint64_t pc, LoadedModule& module) {
  const ProgramHeaders headers = program_headers_at(pc);
  if (headers.segments.empty()) return false;
  const FileInMemory file = describe(headers.segments, headers.bias);
  if (pc < file.begin || pc >= file.end) return false;
  module.begin = file.begin;
  module.end = file.end;
  module.bias = headers.bias;
  if (file.sframe == nullptr) return true;
  const std::uint64_t address = headers.bias + file.sframe->p_vaddr;
  const std::uint64_t size = file.sframe->p_memsz;
  const bool inside = address >= file.begin && address < file.end && size <= file.end - address;
  if (!inside || !is_readable(address) || !is_readable(address + size - 1)) return true;
  const auto fault = module.own.view.open({static_cast<const std::byte*>(pointer_to(address)), size},
                                          file.sframe->p_vaddr, sframe::Family::SFrame, sframe::ViewCheck::Header);
  module.own.is_damaged = static_cast<bool>(fault);
  return true;
}

}  // namespace sframe_gen::unwind
