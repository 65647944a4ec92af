/* Part of the Valgrind tool of row_judge.c, whose head says what its license is. */
#include "features.h"

#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_machine.h"

/* Bits of cpuid that a level takes away, each with those of the levels after it (Intel's manual, volume 2A, CPUID). */
typedef struct {
  const HChar* name;
  UInt leaf_1_ecx, leaf_7_ebx, extended_ecx;
} Level;

enum {
  SSE3 = 1u << 0 | 1u << 1, /* with PCLMULQDQ */
  SSSE3 = 1u << 9,
  SSE4_1 = 1u << 19,
  SSE4_2 = 1u << 20 | 1u << 23 | 1u << 25, /* with POPCNT and AES */
  AVX = 1u << 26 | 1u << 27 | 1u << 28,    /* with XSAVE, which uses its registers */
  FMA = 1u << 12 | 1u << 22 | 1u << 29,    /* with MOVBE and F16C, which came with AVX2 */
  AVX2 = 1u << 3 | 1u << 5 | 1u << 8,      /* with BMI1 and BMI2 */
  AVX512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31,
  LZCNT = 1u << 5 | 1u << 11 | 1u << 16, /* with XOP and FMA4 */
};

static const Level levels[] = {
    {"avx", FMA, AVX2 | AVX512, LZCNT},
    {"sse4.2", FMA | AVX, AVX2 | AVX512, LZCNT},
    {"sse4.1", FMA | AVX | SSE4_2, AVX2 | AVX512, LZCNT},
    {"ssse3", FMA | AVX | SSE4_2 | SSE4_1, AVX2 | AVX512, LZCNT},
    {"sse3", FMA | AVX | SSE4_2 | SSE4_1 | SSSE3, AVX2 | AVX512, LZCNT},
    {"sse2", FMA | AVX | SSE4_2 | SSE4_1 | SSSE3 | SSE3, AVX2 | AVX512, LZCNT},
};
static const Level* limit;
static void (*ask_processor)(VexGuestAMD64State*);

Bool limit_features(const HChar* level) {
  for (UInt i = 0; i < sizeof levels / sizeof levels[0]; ++i) {
    if (VG_(strcmp)(levels[i].name, level) != 0) continue;
    limit = &levels[i];
    return True;
  }
  return False;
}

static void answer_cpuid(VexGuestAMD64State* state) {
  const UInt leaf = (UInt)state->guest_RAX, subleaf = (UInt)state->guest_RCX;
  ask_processor(state);
  if (leaf == 1) state->guest_RCX &= ~(ULong)limit->leaf_1_ecx;
  if (leaf == 7 && subleaf == 0) state->guest_RBX &= ~(ULong)limit->leaf_7_ebx;
  if (leaf == 0x80000001) state->guest_RCX &= ~(ULong)limit->extended_ecx;
}

IRStmt* limited_cpuid(IRStmt* statement) {
  static const HChar prefix[] = "amd64g_dirtyhelper_CPUID";
  if (limit == NULL || statement->tag != Ist_Dirty) return NULL;
  const IRDirty* const call = statement->Ist.Dirty.details;
  if (VG_(strncmp)(call->cee->name, prefix, sizeof prefix - 1) != 0) return NULL;
  ask_processor = (void (*)(VexGuestAMD64State*))call->cee->addr;
  IRDirty* const limited = emptyIRDirty();
  *limited = *call;
  limited->cee = mkIRCallee(call->cee->regparms, "answer_cpuid", VG_(fnptr_to_fnentry)((void*)answer_cpuid));
  return IRStmt_Dirty(limited);
}
