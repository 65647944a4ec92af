/* row_judge: a Valgrind tool that executes a program and judges, before each instruction, what tables say of the
   caller.

   What the call instructions of the program have stored says where the CFA, the return address and the caller's rbp
   are. tools/judge/judge-rows runs it, and has the rows of each file made that code executes of.

       valgrind --tool=row_judge --rows=FOLDER --prepare=COMMAND --result=FILE [--only=TEXT] [--features=LEVEL]
   PROGRAM...

       --rows      has the rows of /a/file in FOLDER/a/file: cfi, sframe, proof (rows.h)
       --prepare   makes them, given a path, when code of a file is first met
       --result    what is written at the end; %p is the process
       --only      judges files whose path has this text
       --features  what cpuid tells the program of: sse2, sse3, ssse3, sse4.1, sse4.2, avx and what came before. Code
   for older processors is judged like that

   The result has lines of fields, separated by tabs:

       file   PATH, steps, steps without a known call, PCs judged, steps judged, then for cfi, sframe and proof: checks,
   PCs with a check, PCs that are wrong; then checks of sframe at PCs without CFI, such PCs, steps judged without a row
              of sframe
       wrong  PATH, PC, source, "beyond" CFI or "cfi", steps judged, of which CFA, return address, rbp wrong; the row;
              rsp, rbp; the expected CFA, return address, rbp; what the row gave first

   License: this program is built from Valgrind's headers and archives, which are under the GNU General Public License,
   version 2 or later. So is the program that results. Our sources here have sframe-gen's license, which allows that. It
   is a tool for tests: no package contains it. */

#include "features.h"
#include "judged_files.h"
#include "libvex_guest_amd64.h"
#include "libvex_guest_offsets.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"
#include "shadow_stack.h"

static const HChar *folder, *prepare_command, *result_path, *only_with, *level;
static ShadowStack* shadows; /* of each thread */
static ShadowStack* shadow;  /* of the one that runs */

/* ---- Judging ---- */

/* Of DWARF's numbers. */
static const Int register_offsets[16] = {OFFSET_amd64_RAX, OFFSET_amd64_RDX, OFFSET_amd64_RCX, OFFSET_amd64_RBX,
                                         OFFSET_amd64_RSI, OFFSET_amd64_RDI, OFFSET_amd64_RBP, OFFSET_amd64_RSP,
                                         OFFSET_amd64_R8,  OFFSET_amd64_R9,  OFFSET_amd64_R10, OFFSET_amd64_R11,
                                         OFFSET_amd64_R12, OFFSET_amd64_R13, OFFSET_amd64_R14, OFFSET_amd64_R15};

/* Memory between rsp and the CFA is there; elsewhere a wrong row may lead. */
static Bool read_word(Addr address, Addr stack_pointer, Addr cfa, Addr* word) {
  const Bool is_in_frame = address >= stack_pointer && address < cfa;
  if (!is_in_frame && !VG_(am_is_valid_for_client)(address, sizeof *word, VKI_PROT_READ)) return False;
  *word = *(Addr*)address;
  return True;
}

/* False: it cannot be evaluated, or read. */
static Bool evaluate(const Rule* rule, const VexGuestAMD64State* state, Addr cfa, Addr same, Addr known_cfa,
                     Addr* result) {
  if (rule->kind == RULE_SAME) {
    *result = same;
    return True;
  }
  if (rule->kind != RULE_AT && rule->kind != RULE_IS) return False;
  Addr sum = cfa;
  if (rule->base != BASE_CFA) {
    if (rule->base < 0 || rule->base > 15) return False;
    sum = *(const Addr*)((const HChar*)state + register_offsets[(Int)rule->base]);
  }
  sum += (Addr)(Long)rule->offset;
  if (rule->kind == RULE_AT) return read_word(sum, state->guest_RSP, known_cfa, result);
  *result = sum;
  return True;
}

static void note(Place* place, enum Source source, enum Wrong wrong, const VexGuestAMD64State* state, const Call* call,
                 Addr found) {
  Mistake* mistake = place->mistakes[source];
  if (mistake == NULL) {
    mistake = place->mistakes[source] = VG_(calloc)("judge.mistake", 1, sizeof(Mistake));
    mistake->stack_pointer = state->guest_RSP;
    mistake->frame_pointer = state->guest_RBP;
    mistake->expected[WRONG_CFA] = call->cfa;
    mistake->expected[WRONG_RETURN_ADDRESS] = call->return_address;
    mistake->expected[WRONG_FRAME_POINTER] = call->frame_pointer;
    mistake->found = found;
  }
  ++mistake->counts[wrong];
}

static Bool is_at_cfa(const Rule* rule) {
  return rule->kind == RULE_AT && rule->base == BASE_CFA && rule->offset == -8;
}

/* Whether the row could be judged, and is right. */
static void check(Place* place, enum Source source, const VexGuestAMD64State* state, const Call* call) {
  const Row* const row = place->rows[source];
  if (row->is_outermost || row->cfa.kind == RULE_OTHER || row->frame_pointer.kind == RULE_OTHER ||
      row->return_address.kind == RULE_OTHER)
    return;
  Addr cfa = 0, found = 0;
  const Bool is_of_call = is_at_cfa(&row->return_address);
  if (!evaluate(&row->cfa, state, 0, 0, call->cfa, &cfa) || cfa != call->cfa) {
    /* CFI that looks for the return address elsewhere is of a context to come: longjmp()'s end. */
    if (!is_of_call && place->rows[SOURCE_CFI] != NULL) return;
    ++place->checks[source];
    note(place, source, WRONG_CFA, state, call, cfa);
    return;
  }
  if (!is_of_call) {
    if (!evaluate(&row->return_address, state, cfa, 0, call->cfa, &found) || found != call->return_address) {
      if (place->rows[SOURCE_CFI] != NULL) return;
      ++place->checks[source];
      note(place, source, WRONG_RETURN_ADDRESS, state, call, found);
      return;
    }
  }
  if (row->frame_pointer.kind == RULE_LOST) return; /* nothing is said of it */
  ++place->checks[source];
  if (!evaluate(&row->frame_pointer, state, cfa, state->guest_RBP, call->cfa, &found) || found != call->frame_pointer)
    note(place, source, WRONG_FRAME_POINTER, state, call, found);
}

static VG_REGPARM(2) void judge(const VexGuestAMD64State* state, Place* place) {
  ++place->steps;
  const Call* const call = current_call(shadow, state->guest_RSP);
  /* A function that has replaced its return address is about to go elsewhere. */
  if (call == NULL || *(Addr*)(call->cfa - 8) != call->return_address) return;
  ++place->judged;
  for (enum Source source = 0; source < SOURCES; ++source)
    if (place->rows[source] != NULL && !place->is_same_as_cfi[source]) check(place, source, state, call);
}

/* `rep movs` and the like, which Valgrind has as loops: they are judged once, not at each turn. */
static VG_REGPARM(2) void judge_repeated(const VexGuestAMD64State* state, Place* place) {
  static const Place* last;
  static ULong last_count, last_stack_pointer;
  const Bool is_next_turn =
      place == last && state->guest_RCX + 1 == last_count && state->guest_RSP == last_stack_pointer;
  last = place;
  last_count = state->guest_RCX;
  last_stack_pointer = state->guest_RSP;
  if (!is_next_turn) judge(state, place);
}

/* ---- Following ---- */

static VG_REGPARM(1) void on_call(const VexGuestAMD64State* state) {
  follow_call(shadow, state->guest_RSP, state->guest_RBP);
}

static VG_REGPARM(1) void on_return(const VexGuestAMD64State* state) {
  follow_return(shadow, state->guest_RSP);
}

static VG_REGPARM(2) void on_jump(const VexGuestAMD64State* state, Addr target) {
  follow_jump(shadow, state->guest_RSP, target);
}

static VG_REGPARM(2) void on_new_stack_pointer(const VexGuestAMD64State* state, Addr now) {
  follow_new_stack_pointer(shadow, state->guest_RSP, now);
}

static void on_start_of_client_code(ThreadId thread, ULong blocks) {
  shadow = &shadows[thread];
  if (shadow->now.count == 0) forget_calls(shadow);
  if (shadow->interrupted == 0) return;
  VexGuestAMD64State state;
  VG_(get_shadow_regs_area)(thread, (UChar*)&state.guest_RBP, 0, OFFSET_amd64_RBP, sizeof state.guest_RBP);
  follow_handler(shadow, VG_(get_SP)(thread), state.guest_RBP);
}

static void on_new_thread(ThreadId parent, ThreadId child) {
  forget_calls(&shadows[child]);
}

static void on_signal(ThreadId thread, Int number, Bool is_on_other_stack) {
  follow_signal(&shadows[thread], VG_(get_SP)(thread), is_on_other_stack);
}

static void on_end_of_handler(ThreadId thread, Int number) {
  follow_end_of_handler(&shadows[thread], VG_(get_SP)(thread));
}

/* ---- Instrumentation ---- */

/* A call of one of the functions above, with the registers and another argument. */
static void add_call(IRSB* block, const HChar* name, void* function, IRExpr* argument) {
  IRExpr** const arguments = argument == NULL ? mkIRExprVec_1(IRExpr_GSPTR()) : mkIRExprVec_2(IRExpr_GSPTR(), argument);
  IRDirty* const call = unsafeIRDirty_0_N(argument == NULL ? 1 : 2, name, VG_(fnptr_to_fnentry)(function), arguments);
  call->nFxState = 1;
  call->fxState[0].fx = Ifx_Read;
  call->fxState[0].offset = OFFSET_amd64_RAX;
  call->fxState[0].size = OFFSET_amd64_R15 + sizeof(ULong) - OFFSET_amd64_RAX;
  call->fxState[0].nRepeats = 0;
  call->fxState[0].repeatLen = 0;
  addStmtToIRSB(block, IRStmt_Dirty(call));
}

/* Whether a value is computed from the stack pointer by sums and masks. `known` says so of each temporary. */
static Bool is_of_stack_pointer(const IRExpr* value, const Bool* known) {
  switch (value->tag) {
    case Iex_RdTmp:
      return known[value->Iex.RdTmp.tmp];
    case Iex_Get:
      return value->Iex.Get.offset == OFFSET_amd64_RSP;
    case Iex_Unop:
      return is_of_stack_pointer(value->Iex.Unop.arg, known);
    case Iex_Binop:
      return is_of_stack_pointer(value->Iex.Binop.arg1, known) || is_of_stack_pointer(value->Iex.Binop.arg2, known);
    default:
      return False;
  }
}

static Bool is_repeated(Addr address) {
  const UChar* const bytes = (const UChar*)address;
  return bytes[0] == 0xf2 || bytes[0] == 0xf3;
}

static Bool goes_on_after(const IRSB* block, Addr end) {
  return block->next->tag == Iex_Const && block->next->Iex.Const.con->Ico.U64 == end;
}

static IRSB* instrument(VgCallbackClosure* closure, IRSB* block, const VexGuestLayout* layout,
                        const VexGuestExtents* extents, const VexArchInfo* machine, IRType word, IRType host_word) {
  IRSB* const result = deepCopyIRSBExceptStmts(block);
  Bool* const is_of_it = VG_(calloc)("judge.temporaries", (SizeT)block->tyenv->types_used + 1, sizeof(Bool));
  Addr end = 0;
  for (Int i = 0; i < block->stmts_used; ++i) {
    IRStmt* const statement = block->stmts[i];
    if (statement->tag == Ist_WrTmp)
      is_of_it[statement->Ist.WrTmp.tmp] = is_of_stack_pointer(statement->Ist.WrTmp.data, is_of_it);
    if (statement->tag == Ist_Put && statement->Ist.Put.offset == OFFSET_amd64_RSP &&
        !is_of_stack_pointer(statement->Ist.Put.data, is_of_it))
      add_call(result, "on_new_stack_pointer", (void*)on_new_stack_pointer, statement->Ist.Put.data);
    IRStmt* const limited = limited_cpuid(statement);
    addStmtToIRSB(result, limited == NULL ? statement : limited);
    if (statement->tag != Ist_IMark) continue;
    const Addr begin = statement->Ist.IMark.addr;
    end = begin + statement->Ist.IMark.len;
    Place* const place = place_at(begin);
    if (place == NULL) continue;
    void* const function = is_repeated(begin) ? (void*)judge_repeated : (void*)judge;
    add_call(result, "judge", function, mkIRExpr_HWord((HWord)place));
  }
  VG_(free)(is_of_it);
  /* A call of the next instruction only asks for its address. */
  if (block->jumpkind == Ijk_Call && !goes_on_after(block, end)) add_call(result, "on_call", (void*)on_call, NULL);
  if (block->jumpkind == Ijk_Ret) add_call(result, "on_return", (void*)on_return, NULL);
  if (block->jumpkind == Ijk_Boring && block->next->tag != Iex_Const)
    add_call(result, "on_jump", (void*)on_jump, block->next);
  return result;
}

/* ---- Result ---- */

static Int result_file;

static void print(const HChar* format, ...) {
  HChar line[8192];
  va_list arguments;
  va_start(arguments, format);
  const UInt size = VG_(vsnprintf)(line, sizeof line, format, arguments);
  va_end(arguments);
  VG_(write)(result_file, line, (Int)(size < sizeof line ? size : sizeof line - 1));
}

static void print_rule(const Rule* rule) {
  static const HChar* const kinds[] = {"undefined", "unchanged", "*", "", "expression"};
  static const HChar* const registers[16] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                             "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  print("%s", kinds[rule->kind]);
  if (rule->kind == RULE_AT || rule->kind == RULE_IS)
    print("(%s%s%d)", rule->base == BASE_CFA ? "CFA" : registers[rule->base & 15], rule->offset < 0 ? "" : "+",
          rule->offset);
}

static void print_mistake(const File* file, const Place* place, enum Source source) {
  const Mistake* const mistake = place->mistakes[source];
  const Row* const row = place->rows[source];
  print("wrong\t%s\t%#lx\t%s\t%s\t%llu\t%llu\t%llu\t%llu\t", file->path, place->address, source_names[source],
        place->rows[SOURCE_CFI] == NULL ? "beyond" : "cfi", place->judged, mistake->counts[WRONG_CFA],
        mistake->counts[WRONG_RETURN_ADDRESS], mistake->counts[WRONG_FRAME_POINTER]);
  print("CFA ");
  print_rule(&row->cfa);
  print(", RA ");
  print_rule(&row->return_address);
  print(", FP ");
  print_rule(&row->frame_pointer);
  print("\trsp %#lx\trbp %#lx\tCFA %#lx\tRA %#lx\tFP %#lx\tfound %#lx\n", mistake->stack_pointer,
        mistake->frame_pointer, mistake->expected[WRONG_CFA], mistake->expected[WRONG_RETURN_ADDRESS],
        mistake->expected[WRONG_FRAME_POINTER], mistake->found);
}

static void print_file(File* file) {
  ULong steps = 0, judged = 0, without_call = 0, pcs = 0, beyond = 0, pcs_beyond = 0, without_row = 0;
  ULong checks[SOURCES] = {0}, checked[SOURCES] = {0}, wrong[SOURCES] = {0};
  VG_(HT_ResetIter)(file->places);
  for (Place* place; (place = VG_(HT_Next)(file->places)) != NULL;) {
    steps += place->steps;
    judged += place->judged;
    without_call += place->steps - place->judged;
    pcs += place->judged != 0;
    if (place->rows[SOURCE_SFRAME] == NULL) without_row += place->judged;
    for (enum Source source = 0; source < SOURCES; ++source) {
      /* Equal rows were checked once. */
      const enum Source judged_as = place->is_same_as_cfi[source] ? SOURCE_CFI : source;
      place->checks[source] = place->checks[judged_as];
      place->mistakes[source] = place->mistakes[judged_as];
      checks[source] += place->checks[source];
      checked[source] += place->checks[source] != 0;
      wrong[source] += place->mistakes[source] != NULL;
      if (place->mistakes[source] != NULL) print_mistake(file, place, source);
    }
    if (place->rows[SOURCE_CFI] != NULL) continue;
    beyond += place->checks[SOURCE_SFRAME];
    pcs_beyond += place->checks[SOURCE_SFRAME] != 0;
  }
  if (steps == 0) return;
  print("file\t%s\t%llu\t%llu\t%llu\t%llu", file->path, steps, without_call, pcs, judged);
  for (enum Source source = 0; source < SOURCES; ++source)
    print("\t%llu\t%llu\t%llu", checks[source], checked[source], wrong[source]);
  print("\t%llu\t%llu\t%llu\n", beyond, pcs_beyond, without_row);
}

static void finish(Int status) {
  HChar* const path = VG_(expand_file_name)("--result", result_path);
  const SysRes opened = VG_(open)(path, VKI_O_WRONLY | VKI_O_CREAT | VKI_O_TRUNC, 0644);
  if (sr_isError(opened)) {
    VG_(umsg)("cannot write %s\n", path);
    VG_(exit)(2);
  }
  result_file = (Int)sr_Res(opened);
  for (File* file = judged_files(); file != NULL; file = file->next) print_file(file);
  print("end\n");
  VG_(close)(result_file);
}

/* ---- What Valgrind asks of a tool ---- */

static Bool take_option(const HChar* argument) {
  if VG_STR_CLO (argument, "--rows", folder) {
  } else if VG_STR_CLO (argument, "--prepare", prepare_command) {
  } else if VG_STR_CLO (argument, "--result", result_path) {
  } else if VG_STR_CLO (argument, "--only", only_with) {
  } else if VG_STR_CLO (argument, "--features", level) {
    return limit_features(level);
  } else
    return False;
  return True;
}

static void print_usage(void) {
  VG_(printf)("    --rows=FOLDER --prepare=COMMAND --result=FILE --only=TEXT --features=LEVEL\n");
}

static void print_debug_usage(void) {}

static void begin(void) {
  if (folder == NULL || result_path == NULL) {
    VG_(umsg)("row_judge needs --rows and --result\n");
    VG_(exit)(2);
  }
  set_files(folder, prepare_command, only_with);
  shadows = VG_(calloc)("judge.shadows", VG_N_THREADS, sizeof(ShadowStack));
}

static void register_tool(void) {
  VG_(details_name)("row_judge");
  VG_(details_version)(NULL);
  VG_(details_description)("judges rows of .sframe and CFI");
  VG_(details_copyright_author)("The sframe-gen authors; built from Valgrind, under the GNU GPL");
  VG_(details_bug_reports_to)("sframe-gen");
  VG_(details_avg_translation_sizeB)(700);
  VG_(basic_tool_funcs)(begin, instrument, finish);
  VG_(needs_command_line_options)(take_option, print_usage, print_debug_usage);
  VG_(track_start_client_code)(on_start_of_client_code);
  VG_(track_pre_thread_ll_create)(on_new_thread);
  VG_(track_pre_deliver_signal)(on_signal);
  VG_(track_post_deliver_signal)(on_end_of_handler);
  /* Calls must end a block, and each instruction must find the registers as they are. */
  VG_(clo_vex_control).guest_chase = False;
  VG_(clo_vex_control).iropt_register_updates_default = VexRegUpdAllregsAtEachInsn;
  VG_(clo_px_file_backed) = VexRegUpdAllregsAtEachInsn;
}

VG_DETERMINE_INTERFACE_VERSION(register_tool)
