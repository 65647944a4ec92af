#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// Where call frame information (CFI) contradicts the code that it describes (code_check.hpp).
namespace sframe_gen {

/// What a comparison of a file's CFI with its instructions has found.
struct CodeCheck {
  /// PCs where CFI is wrong: the code, followed on every path from the function's entry, says otherwise. Code that no
  /// path reaches may be between them, such as padding.
  struct Contradiction {
    std::string function;              ///< its name; empty without a symbol
    std::uint64_t start = 0;           ///< virtual address of the function
    std::uint64_t begin = 0, end = 0;  ///< virtual addresses
    std::string cfi;                   ///< "CFA rsp+8"
    std::string code;                  ///< "rsp is CFA-24"
    std::string instruction;           ///< the last one before, which decides it: "0x1234: sub rsp, 0x10"
  };
  /// A function of which nothing is known, and where that was found out.
  struct Refused {
    std::uint64_t start = 0, pc = 0;  ///< virtual addresses
    std::string reason;               ///< "conflicting-paths"
  };

  /// A jump table that was read without a bound: as far as its contents can be right.
  struct TableByContents {
    std::string function;     ///< its name; empty without a symbol
    std::uint64_t start = 0;  ///< virtual address of the function, which is proved
    std::uint64_t table = 0;  ///< virtual address
  };

  std::uint64_t functions = 0;           ///< starts of functions in code that CFI describes
  std::uint64_t proved = 0;              ///< of which each state is known
  std::uint64_t proved_by_contents = 0;  ///< of these, with a jump table that was read without a bound
  std::uint64_t described_bytes = 0;     ///< code that CFI describes
  std::uint64_t compared_bytes = 0;      ///< of instructions that were compared
  std::uint64_t not_reached_bytes = 0;   ///< of code that CFI describes: landing pads, data, dead code
  std::vector<std::pair<std::string, std::uint64_t>> refused_by_reason;  ///< functions, by descending number
  std::vector<Contradiction> contradictions;                             ///< by address
  std::uint64_t contradictions_left_out = 0;                             ///< more than 65,536
  std::uint64_t contradicted_functions = 0;
  std::vector<Contradiction> doubted;  ///< that only paths show which may be none; by address, as many at most
  std::uint64_t doubted_left_out = 0;
  std::vector<Refused> refused;                     ///< by address
  std::vector<TableByContents> tables_by_contents;  ///< by address of the function and the table
};

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
