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

#include "unwind/registers.hpp"
#include "unwind/stack_memory.hpp"

// A program that is linked statically may have none.
#pragma weak dlsym

// Glibc's; no other C library has it.
// NOLINTNEXTLINE(readability-redundant-declaration)
extern "C" const char* gnu_get_libc_version(void) __attribute__((weak));

namespace sframe_gen::unwind {
/// Memory that lists of modules share: of a view's page table, or of a section's copy. It begins with this. Counted
/// under the lock that lists are made and freed under.
struct SharedMemory {
  std::size_t mapped_size = 0;  ///< bytes
  std::size_t users = 0;
};

namespace {

constexpr std::size_t row_slots = 4096;
constexpr unsigned uncounted = 2;  ///< the turn of a walk that has no counter

/// What a list was made with: the dynamic loader counts what it loads and unloads, so it is made again only if
/// one of these differs, or a file was still being loaded.
struct Basis {
  unsigned long long loaded = 0, unloaded = 0;
  Provider provider;
  unsigned flags = 0;
  friend bool operator==(const Basis&, const Basis&) = default;
};

constinit const LoadedModules no_modules;

pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
LoadedModules* current;
Basis basis;             ///< of `current`
LoadedModules* retired;  ///< may still be walked with
std::uint64_t walks[2];  ///< under way, by the turn that they began in
unsigned turn;           ///< of walks that begin now: while they have one counter, the other one comes to 0
bool keeps_lists;        ///< no list is freed any more, so walks need no counter

struct Looking {
  Basis basis;
  std::size_t count = 0;
  std::size_t at_start = 1;  ///< of the files: how many of the first ones the program has been started with
  bool is_whole = true;      ///< nothing was left for the next look
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

/// Returns null if there is none.
SharedMemory* allocate_shared(std::size_t size) {
  const std::size_t whole = sizeof(SharedMemory) + size;
  if (whole < size) return nullptr;
  void* const memory = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED ? ::new (memory) SharedMemory{whole, 1} : nullptr;
}

/// Gives `view` a table, if one is of use and there is memory for it: 16 bytes for each 1,024 of code.
/// Null: look-ups go without.
SharedMemory* make_page_table(sframe::SectionView& view) {
  constexpr std::uint64_t page_size = 512;     // bytes of code
  constexpr std::uint32_t few_functions = 32;  // are found as fast without
  const std::uint64_t slots = view.page_slots(page_size);
  if (view.function_count() <= few_functions || slots == 0) return nullptr;
  SharedMemory* const table = allocate_shared(slots * sizeof(sframe::PageSlot));
  if (table == nullptr) return nullptr;
  view.use_pages({reinterpret_cast<sframe::PageSlot*>(table + 1), slots});
  return table;
}

void add_user(SharedMemory* memory) {
  if (memory != nullptr) ++memory->users;
}

/// The last one frees it.
void drop_user(SharedMemory* memory) {
  if (memory != nullptr && --memory->users == 0) ::munmap(memory, memory->mapped_size);
}

void add_users(const LoadedModule& module) {
  for (const ModuleSection& section : {module.own, module.provided}) {
    add_user(section.pages);
    add_user(section.copy);
  }
}

void drop_users(const LoadedModule& module) {
  for (const ModuleSection& section : {module.own, module.provided}) {
    drop_user(section.pages);
    drop_user(section.copy);
  }
}

/// `flags`: SFRAME_UNWIND_NO_PAGES.
void open(ModuleSection& section, const void* bytes, std::size_t size, std::uint64_t address, unsigned flags,
          sframe::ViewCheck check = sframe::ViewCheck::Everything) {
  const auto fault =
      section.view.open({static_cast<const std::byte*>(bytes), size}, address, sframe::Family::SFrame, check);
  section.is_damaged = static_cast<bool>(fault);
  if ((flags & SFRAME_UNWIND_NO_PAGES) == 0) section.pages = make_page_table(section.view);
}

/// The same file as it was in the list before, or null.
const LoadedModule* same_as_before(const LoadedModule& module) {
  if (current == nullptr) return nullptr;
  for (const LoadedModule& known : current->modules) {
    const bool is_there = !known.is_added && known.begin == module.begin && known.end == module.end;
    if (is_there && is_same_file(known.identity, module.begin)) return &known;
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
    add_users(module);
  } else if (file.sframe != nullptr) {
    open(module.own, pointer_to(info->dlpi_addr + file.sframe->p_vaddr), file.sframe->p_memsz, file.sframe->p_vaddr,
         look.basis.flags);
  }
  insert(look.made->modules, module);
  return 0;
}

/// What a provider is told of a file: copies, as another thread may unload it meanwhile.
struct Naming {
  std::uint64_t begin;
  char name[PATH_MAX];
  bool is_known;
  std::size_t build_id_size;
  std::uint8_t build_id[64];  ///< a longer one is none: linkers make at most 32 bytes
  std::size_t code_count;
  sframe_unwind_code code[16];
};

/// All executable segments, or none of them if there are too many.
void copy_code(std::span<const ElfW(Phdr)> segments, Naming& naming) {
  naming.code_count = 0;
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    if (naming.code_count == std::size(naming.code)) {
      naming.code_count = 0;
      return;
    }
    naming.code[naming.code_count++] = {segment.p_vaddr, segment.p_memsz};
  }
}

int copy_name(dl_phdr_info* info, std::size_t, void* data) {
  Naming& naming = *static_cast<Naming*>(data);
  const std::size_t length = std::strlen(info->dlpi_name);
  const std::span<const ElfW(Phdr)> segments(info->dlpi_phdr, info->dlpi_phnum);
  const FileInMemory file = describe(segments, info->dlpi_addr);
  if (file.begin != naming.begin || length >= sizeof naming.name) return 0;
  std::memcpy(naming.name, info->dlpi_name, length + 1);
  naming.is_known = true;
  const std::uint32_t size = file.identity.build_id_size;
  naming.build_id_size = size <= sizeof naming.build_id ? size : 0;
  std::memcpy(naming.build_id, pointer_to(file.identity.build_id), naming.build_id_size);
  copy_code(segments, naming);
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

/// Not while the loader's list is held: the provider may start threads, and exceptions need that list. Returns false if
/// there was no memory for an answer, which the next look asks for again.
bool ask_for(LoadedModule& module, const Basis& asked) {
  const bool wanted = !module.own.view.is_open() || (asked.flags & SFRAME_UNWIND_PROVIDE_ALL) != 0;
  if (!asked.provider.is_there() || module.was_asked_for || module.is_added || !wanted) return true;
  Naming naming{};
  if (!find_name(module, naming)) return true;
  const void* bytes = nullptr;
  std::size_t size = 0;
  std::uint64_t address = 0;
  const auto& [provide, provide_file, context] = asked.provider;
  const sframe_unwind_file file{sizeof file,          naming.name, module.bias,      naming.build_id,
                                naming.build_id_size, naming.code, naming.code_count};
  const int error = provide_file != nullptr ? provide_file(context, &file, &bytes, &size, &address)
                                            : provide(context, naming.name, module.bias, &bytes, &size, &address);
  module.was_asked_for = error != ENOMEM;
  const bool is_trusted = (asked.flags & SFRAME_UNWIND_TRUST_PROVIDED) != 0;
  const auto check = is_trusted ? sframe::ViewCheck::Header : sframe::ViewCheck::Everything;
  if (error == 0) open(module.provided, bytes, size, address, asked.flags, check);
  return module.was_asked_for;
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
  for (const LoadedModule& module : list->modules) drop_users(module);
  ::munmap(list, list->mapped_size);
}

/// A walk counts itself before it takes the current list, unless lists are kept. So a list is out of use once each of
/// the two counters was 0 at some time since it was retired. Walks that begin now count elsewhere than those that are
/// waited for: however many there are, these come to an end.
void free_retired() {
  if (keeps_lists) return;
  constexpr unsigned both = 3;
  unsigned drained = 0;
  for (unsigned each = 0; each != 2; ++each) {
    if (__atomic_load_n(&walks[each], __ATOMIC_SEQ_CST) == 0) drained |= 1U << each;
  }
  for (LoadedModules** at = &retired; *at != nullptr;) {
    LoadedModules* const list = *at;
    list->drained |= drained;
    if (list->drained == both) {
      *at = list->retired_before;
      free_list(list);
    } else {
      at = &list->retired_before;
    }
  }
  const unsigned other = 1 - turn;
  if ((drained >> other & 1U) != 0) __atomic_store_n(&turn, other, __ATOMIC_RELAXED);
}

/// Puts `next` in the place of what was current.
void publish(LoadedModules* next) {
  LoadedModules* const before = __atomic_exchange_n(&current, next, __ATOMIC_SEQ_CST);
  if (before != nullptr) {
    before->retired_before = retired;
    retired = before;
  }
  free_retired();
}

/// Makes a list of the files that are loaded now, which `look` has counted, and of the code that was added, but for
/// `left_out`. It has room for one more. Returns false if there is no memory.
bool make_list(Looking& look, const LoadedModule* left_out) {
  const std::span<const LoadedModule> known = current != nullptr ? current->modules : std::span<LoadedModule>();
  std::size_t room = look.count + 1;
  for (const LoadedModule& module : known) room += module.is_added ? 1 : 0;
  look.made = allocate(room);
  if (look.made == nullptr) return false;
  look.made->main_stack = find_main_stack();
  look.made->are_all = (look.basis.flags & SFRAME_UNWIND_ONLY_PREPARED) != 0;
  ::dl_iterate_phdr(add_module, &look);
  for (const LoadedModule& module : known) {
    if (!module.is_added || &module == left_out) continue;
    add_users(module);
    insert(look.made->modules, module);
  }
  return true;
}

int look(Looking& look) {
  ::dl_iterate_phdr(count_module, &look);
  if (current != nullptr && look.basis == basis) return 0;
  if (!make_list(look, nullptr)) return ENOMEM;
  for (LoadedModule& module : look.made->modules) {
    look.is_whole = ask_for(module, look.basis) && look.is_whole;
    if ((look.basis.flags & SFRAME_UNWIND_KEEP_FILES) != 0) keep(module);
  }
  publish(look.made);
  basis = look.is_whole ? look.basis : Basis{};
  return 0;
}

/// Publishes a list for which no provider was asked. If it has other files than the one before, the next look does.
void publish_unasked(const Looking& look) {
  const bool same_files = look.basis.loaded == basis.loaded && look.basis.unloaded == basis.unloaded;
  if (!same_files || !look.is_whole) basis = {};
  look.made->are_all = current != nullptr && current->are_all;
  publish(look.made);
}

/// Opens a copy of the section, so that its bytes stay as they are and as long as lists have it.
int open_copy(ModuleSection& section, std::span<const std::byte> bytes, std::uint64_t address) {
  section.copy = allocate_shared(bytes.size());
  if (section.copy == nullptr) return ENOMEM;
  void* const copied = std::memcpy(section.copy + 1, bytes.data(), bytes.size());
  open(section, copied, bytes.size(), address, 0);
  return section.view.is_open() && section.view.abi() == host_traits.abi ? 0 : EINVAL;
}

int list_with(const LoadedModule& module) {
  Looking look;
  ::dl_iterate_phdr(count_module, &look);
  if (!make_list(look, nullptr)) return ENOMEM;
  for (const LoadedModule& other : look.made->modules) {
    if (other.begin >= module.end || module.begin >= other.end) continue;
    free_list(look.made);
    return EEXIST;
  }
  insert(look.made->modules, module);
  publish_unasked(look);
  return 0;
}

int list_without(std::uint64_t begin) {
  if (current == nullptr) return ENOENT;
  for (const LoadedModule& module : current->modules) {
    if (!module.is_added || module.begin != begin) continue;
    Looking look;
    ::dl_iterate_phdr(count_module, &look);
    if (!make_list(look, &module)) return ENOMEM;
    publish_unasked(look);
    return 0;
  }
  return ENOENT;
}

/// One change of the lists at a time. Keeps errno. A thread that were canceled meanwhile would keep the lock.
class Changing {
 public:
  Changing() {
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
    ::pthread_mutex_lock(&looking);
  }
  ~Changing() {
    ::pthread_mutex_unlock(&looking);
    ::pthread_setcancelstate(cancel_state_, nullptr);
    errno = kept_;
  }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;

 private:
  int kept_ = errno;
  int cancel_state_ = 0;
};

}  // namespace

const LoadedModules& enter_modules(unsigned& turn_of_walk) {
  if (__atomic_load_n(&keeps_lists, __ATOMIC_SEQ_CST)) {
    turn_of_walk = uncounted;
  } else {
    turn_of_walk = __atomic_load_n(&turn, __ATOMIC_RELAXED);
    __atomic_fetch_add(&walks[turn_of_walk], 1, __ATOMIC_SEQ_CST);
  }
  const LoadedModules* const list = __atomic_load_n(&current, __ATOMIC_SEQ_CST);
  return list != nullptr ? *list : no_modules;
}

void leave_modules(unsigned turn_of_walk) {
  if (turn_of_walk != uncounted) __atomic_fetch_sub(&walks[turn_of_walk], 1, __ATOMIC_RELEASE);
}

int look_at_modules(const Provider& provider, unsigned flags) {
  const Changing changing;
  // A walk that sees this counts itself nowhere. From here on no list is freed, so it may have any.
  if ((flags & SFRAME_UNWIND_KEEP_LISTS) != 0) __atomic_store_n(&keeps_lists, true, __ATOMIC_SEQ_CST);
  Looking looked{{0, 0, provider, flags}};
  return look(looked);
}

void forget_modules() {
  const Changing changing;
  basis = {};
  publish(nullptr);
}

int add_code(Range code, std::span<const std::byte> section, std::uint64_t address) {
  if (code.begin >= code.end || section.data() == nullptr) return EINVAL;
  const Changing changing;
  LoadedModule module;
  module.begin = code.begin;
  module.end = code.end;
  module.is_permanent = true;  // as far as the dynamic loader goes, which knows nothing of it
  module.is_added = true;
  int error = open_copy(module.own, section, address);
  if (error == 0) error = list_with(module);
  if (error != 0) drop_users(module);
  return error;
}

int remove_code(std::uint64_t begin) {
  const Changing changing;
  return list_without(begin);
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
