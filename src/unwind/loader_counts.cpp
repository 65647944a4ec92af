#include "unwind/loader_counts.hpp"

#include "unwind/stack_memory.hpp"

namespace sframe_gen::unwind {

void LoaderCountFinder::look(const dl_phdr_info& loader) {
  // What was unloaded is told as a difference. With other namespaces glibc adds their files to it, some more than once:
  // then no word follows it, and all begins anew.
  const auto loads = static_cast<std::uint32_t>(loader.dlpi_adds);
  const auto files = static_cast<std::uint32_t>(loader.dlpi_adds - loader.dlpi_subs);
  const bool loads_changed = loads != loads_;
  const bool files_changed = files != files_;
  if (!loads_changed && !files_changed && count_ != 0) return;
  loads_ = loads;
  files_ = files;
  if (count_ != 0) {
    keep_those_that_follow();
    loads_followed_ = loads_followed_ || loads_changed;
    files_followed_ = files_followed_ || files_changed;
  }
  if (count_ == 0) gather(loader);
}

LoaderCounts LoaderCountFinder::counts() const {
  LoaderCounts counts;
  // As long as nothing was unloaded, each of the two has both values.
  const bool is_known = loads_followed_ && files_followed_ && count_ >= 2;
  if (!is_known) return counts;
  for (std::size_t i = 0; i < count_; ++i) {
    const Candidate& candidate = candidates_[i];
    if (!counts.add(candidate.place, candidate.may_be_loads ? loads_ : files_)) return {};
  }
  return counts;
}

void LoaderCountFinder::keep_those_that_follow() {
  bool any_loads = false;
  bool any_files = false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    Candidate candidate = candidates_[i];
    const std::uint32_t value = __atomic_load_n(candidate.place, __ATOMIC_RELAXED);
    candidate.may_be_loads = candidate.may_be_loads && value == loads_;
    candidate.may_be_files = candidate.may_be_files && value == files_;
    any_loads = any_loads || candidate.may_be_loads;
    any_files = any_files || candidate.may_be_files;
    if (candidate.may_be_loads || candidate.may_be_files) candidates_[kept++] = candidate;
  }
  count_ = any_loads && any_files ? kept : 0;
}

void LoaderCountFinder::gather(const dl_phdr_info& loader) {
  loads_followed_ = files_followed_ = false;
  for (std::size_t i = 0; i < loader.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = loader.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
    constexpr std::uint64_t alignment = alignof(std::uint32_t);
    const std::uint64_t begin = (loader.dlpi_addr + segment.p_vaddr + alignment - 1) / alignment * alignment;
    const std::uint64_t end = (loader.dlpi_addr + segment.p_vaddr + segment.p_memsz) / alignment * alignment;
    gather_from(static_cast<const std::uint32_t*>(pointer_to(begin)),
                static_cast<const std::uint32_t*>(pointer_to(end)));
  }
}

void LoaderCountFinder::gather_from(const std::uint32_t* begin, const std::uint32_t* end) {
  for (const std::uint32_t* word = begin; word < end; ++word) {
    const std::uint32_t value = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (value != loads_ && value != files_) continue;
    // So many are no use: the right ones might be among those that are left out.
    if (count_ == most_candidates) {
      count_ = 0;
      return;
    }
    candidates_[count_++] = {word, value == loads_, value == files_};
  }
}

}  // namespace sframe_gen::unwind
