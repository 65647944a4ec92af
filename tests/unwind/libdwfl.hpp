#pragma once

#include <elfutils/libdwfl.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "sframe_gen/unwind.hpp"

namespace sframe_gen::unwind {

/// Stacks of this process or another one as elfutils' libdwfl walks them, by DWARF. On x86-64.
class Libdwfl {
 public:
  Libdwfl(int pid, ReadMemory read, void* context);
  ~Libdwfl();
  Libdwfl(const Libdwfl&) = delete;
  Libdwfl& operator=(const Libdwfl&) = delete;

  /// Looks at the files that the process has mapped now. False: there are none of this machine.
  bool find_files();

  /// As Unwinder::walk(). `why`: null where it came to the outermost frame, or `pcs` is full.
  std::size_t walk(const Registers& registers, std::span<std::uint64_t> pcs, const char*& why);

  /// Where there are none, it goes on by the frame pointer, which may lead anywhere.
  bool has_rules(std::uint64_t pc) const;

 private:
  static pid_t next_thread(Dwfl* dwfl, void* self, void** argument);
  static bool get_thread(Dwfl* dwfl, pid_t thread, void* self, void** argument);
  static bool read_word(Dwfl* dwfl, Dwarf_Addr address, Dwarf_Word* word, void* self);
  static bool set_registers(Dwfl_Thread* thread, void* self);
  static int add_frame(Dwfl_Frame* frame, void* self);

  static constexpr Dwfl_Thread_Callbacks thread_callbacks{next_thread,   get_thread, read_word,
                                                          set_registers, nullptr,    nullptr};
  int pid_;
  ReadMemory read_;
  void* context_;
  Dwfl* dwfl_;
  bool is_attached_ = false;
  // Of the walk that is under way.
  const Registers* registers_ = nullptr;
  std::span<std::uint64_t> pcs_;
  std::size_t count_ = 0;
};

}  // namespace sframe_gen::unwind
