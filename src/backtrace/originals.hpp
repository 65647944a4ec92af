#pragma once

#include <unwind.h>

#include <cstdint>

namespace sframe_gen::backtrace {

/// What _Unwind_Find_FDE() says of a function (struct dwarf_eh_bases of libgcc's unwind-dw2-fde.h).
struct FunctionBases {
  void *text, *data, *function;
};

/// What the program would have called without this library. Null: not found yet.
struct Originals {
  // The entries in assembly jump to these three.
  int (*backtrace)(void**, int);
  _Unwind_Reason_Code (*unwind_backtrace)(_Unwind_Trace_Fn, void*);
  int (*unw_backtrace)(void**, int);

  decltype(&::_Unwind_GetIP) get_ip;
  decltype(&::_Unwind_GetIPInfo) get_ip_info;
  decltype(&::_Unwind_GetCFA) get_cfa;
  decltype(&::_Unwind_GetGR) get_gr;
  decltype(&::_Unwind_GetRegionStart) get_region_start;
  decltype(&::_Unwind_GetLanguageSpecificData) get_language_specific_data;
  decltype(&::_Unwind_GetDataRelBase) get_data_rel_base;
  decltype(&::_Unwind_GetTextRelBase) get_text_rel_base;
  const void* (*find_fde)(void*, FunctionBases*);
};

/// Finds those that are loaded, for walks that may not: dlsym() takes locks, and much stack.
void find_loaded_originals();

/// Returns a function of libunwind, or null.
void* find_in_libunwind(const char* name);

/// Finds unw_backtrace() of libunwind. In a program that has found our own, and no libunwind, backtrace() of glibc
/// takes its place.
void find_unw_backtrace();

/// Finds the functions of libunwind that walk step by step (libunwind.cpp). For the constructor: dlsym() takes locks,
/// and much stack.
void find_libunwinds_steps();

/// Finds those that are not found yet, and loads libgcc's library for them, as backtrace() of glibc does.
void find_all_originals();

/// Whether the originals are glibc's or libunwind's backtrace(), libgcc's _Unwind_Backtrace() and libunwind's
/// unw_backtrace(). Others give other frames: that of ThreadSanitizer one of its own, libunwind's _Unwind_Backtrace()
/// none at the end.
bool is_glibcs();
bool is_libgccs();
bool is_libunwinds();

/// Whether a table of the original describes the instruction at `pc`. False if the original is not loaded.
bool is_described(std::uint64_t pc);

/// The same for the instruction before `pc`, of first and outermost frames: these have few PCs, which are remembered.
/// True if the original is not loaded. Go's entry has a row that ends a walk, and no table: there, libgcc has no last
/// frame, and libunwind tries other ways.
bool is_call_described(std::uint64_t pc);

}  // namespace sframe_gen::backtrace

extern "C" [[gnu::visibility("hidden")]] sframe_gen::backtrace::Originals sframe_backtrace_originals;

namespace sframe_gen::backtrace {

/// Returns one of them, such as original<&Originals::get_ip>().
template <auto member>
auto original() {
  if (auto* const found = __atomic_load_n(&(sframe_backtrace_originals.*member), __ATOMIC_RELAXED)) [[likely]]
    return found;
  find_all_originals();
  return __atomic_load_n(&(sframe_backtrace_originals.*member), __ATOMIC_RELAXED);
}

}  // namespace sframe_gen::backtrace
