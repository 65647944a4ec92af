#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

/// Whether the dynamic loader has loaded or unloaded anything: its counts of both, where they lie.
///
/// It tells them by dl_iterate_phdr only, which takes a lock. But glibc's are static objects of ld.so, `_dl_load_adds`
/// (every file that was ever loaded) and `_ns_nloaded` of the namespace (those that are), so they are among the words
/// of ld.so's writable segments that have the told values. All such words are kept, whichever is the right one: if none
/// has changed, neither count has. That both are there at all is seen, not believed: a word that once differs from the
/// value that is told is dropped, and none is relied on before both counts have changed and words have followed each.
/// Both change with the list of files, under that lock, before code of a new file can run, and before the look-ups of
/// _dl_find_object know that one is gone (glibc 2.36 and 2.43, elf/dl-object.c, dl-close.c).
namespace sframe_gen::unwind {

/// Words as they were at some time.
class LoaderCounts {
 public:
  static constexpr std::size_t most_words = 8;

  bool add(const std::uint32_t* word, std::uint32_t value) {
    if (count_ == most_words) return false;
    words_[count_++] = {word, value};
    return true;
  }

  /// Takes no lock. False also where nothing is known.
  bool are_unchanged() const {
    for (std::size_t i = 0; i < count_; ++i) {
      const Word& word = words_[i];
      if (__atomic_load_n(word.place, __ATOMIC_ACQUIRE) != word.value) return false;
    }
    return count_ != 0;
  }

 private:
  struct Word {
    const std::uint32_t* place;
    std::uint32_t value;
  };
  Word words_[most_words]{};
  std::size_t count_ = 0;
};

/// Finds the words. To be called under one lock.
class LoaderCountFinder {
 public:
  /// In a callback of dl_iterate_phdr, with what it tells of ld.so: no count changes meanwhile.
  void look(const dl_phdr_info& loader);

  /// As they were at the last look; nothing, as long as they are not known.
  LoaderCounts counts() const;

 private:
  struct Candidate {
    const std::uint32_t* place;
    bool may_be_loads, may_be_files;  ///< one of these counts
  };
  static constexpr std::size_t most_candidates = 256;

  void gather(const dl_phdr_info& loader);
  void gather_from(const std::uint32_t* begin, const std::uint32_t* end);
  void keep_those_that_follow();

  Candidate candidates_[most_candidates]{};
  std::size_t count_ = 0;
  std::uint32_t loads_ = 0, files_ = 0;  ///< as told at the last look
  bool loads_followed_ = false, files_followed_ = false;
};

}  // namespace sframe_gen::unwind
