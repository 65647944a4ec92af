/* Instructions that a program is told the processor does not have. Part of the Valgrind tool of row_judge.c. */
#ifndef JUDGE_FEATURES_H
#define JUDGE_FEATURES_H

#include "libvex_guest_amd64.h"
#include "libvex_ir.h"
#include "pub_tool_basics.h"

/* "sse2", "sse3", "ssse3", "sse4.1", "sse4.2", "avx": this and what came before. Returns whether it is known. */
Bool limit_features(const HChar* level);

/* The statement for `cpuid` that goes in place of Valgrind's; null if `statement` is none, or nothing is limited. */
IRStmt* limited_cpuid(IRStmt* statement);

#endif
