// What libdwarf says of each PC of a file for x86-64 that an FDE of .eh_frame describes, in the words of
// libsframe_lookup.c. It shares nothing with sframe-gen.
//
//     cfi-rules FILE ADDRESS     prints "PC CLASS CFA RA FP" for each, where PC counts from ADDRESS
//
// A rule is BASE OFFSET DEREFERENCED; BASE is a register's number, or -1 for the CFA; "- 0 0" stands for the usual
// place. CLASS tells which versions of SFrame can say it: "=" all; "+" version 3, in flexible FDEs; "u" there is no
// caller, which version 3 says; "?" none.

#include <dwarf.h>
#include <fcntl.h>
#include <libdwarf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { rbp = 6, rsp = 7, return_address = 16, register_count = 17, text_size = 64 };
enum { undefined = 1034, same = 1035, cfa_column = 1436 };

/// Of a column: a register or the CFA, and an offset from it.
struct rule {
  bool is_known, is_usual, is_undefined, is_dereferenced;
  long base, offset;
};

static long sleb128(const unsigned char** at, const unsigned char* end) {
  unsigned long value = 0;
  unsigned shift = 0;
  unsigned char byte = 0x80;
  while (*at < end && (byte & 0x80) != 0) {
    byte = *(*at)++;
    value |= (unsigned long)(byte & 0x7f) << shift;
    shift += 7;
  }
  if (shift < 64 && (byte & 0x40) != 0) value |= -(1UL << shift);
  return (long)value;
}

/// BREG, then nothing or a DEREF.
static struct rule rule_of_expression(const unsigned char* at, unsigned long size, bool is_address) {
  struct rule rule = {0};
  const unsigned char* const end = at + size;
  if (size < 2 || *at < DW_OP_breg0 || *at >= DW_OP_breg0 + return_address) return rule;
  rule.base = *at++ - DW_OP_breg0;
  rule.offset = sleb128(&at, end);
  if (at < end && *at == DW_OP_deref && !is_address) {
    rule.is_dereferenced = true;
    at++;
  } else {
    rule.is_dereferenced = is_address;
  }
  rule.is_known = at == end;
  return rule;
}

/// The CFA of entries of a PLT, as linkers write it: rsp + 8, and 8 more from the byte of each 16 on that a literal
/// names.
static struct rule rule_of_plt(const unsigned char* at, unsigned long size, Dwarf_Addr pc) {
  static const unsigned char before[] = {DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and},
                             after[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
  const unsigned long literal = sizeof before;
  struct rule rule = {0};
  if (size != literal + 1 + sizeof after || memcmp(at, before, sizeof before) != 0 ||
      memcmp(at + literal + 1, after, sizeof after) != 0 || at[literal] < DW_OP_lit0 || at[literal] > DW_OP_lit15)
    return rule;
  rule.is_known = true;
  rule.base = rsp;
  rule.offset = (pc & 15) >= (Dwarf_Addr)(at[literal] - DW_OP_lit0) ? 16 : 8;
  return rule;
}

static struct rule rule_of(Dwarf_Small kind, Dwarf_Signed offset_relevant, Dwarf_Signed base, Dwarf_Signed offset,
                           Dwarf_Ptr block) {
  struct rule rule = {.is_known = true};
  if (kind == DW_EXPR_EXPRESSION) return rule_of_expression(block, (unsigned long)offset, true);
  if (kind == DW_EXPR_VAL_EXPRESSION) return rule_of_expression(block, (unsigned long)offset, false);
  rule.is_usual = base == same;
  rule.is_undefined = base == undefined;
  rule.base = base == cfa_column ? -1 : base;
  rule.offset = offset_relevant ? offset : 0;
  rule.is_dereferenced = offset_relevant && kind == DW_EXPR_OFFSET;
  return rule;
}

static struct rule rule_of_register(Dwarf_Fde fde, Dwarf_Half column, Dwarf_Addr pc) {
  Dwarf_Small kind = 0;
  Dwarf_Signed relevant = 0, base = 0, offset = 0;
  Dwarf_Ptr block = NULL;
  Dwarf_Addr row = 0, next = 0;
  Dwarf_Bool more = 0;
  Dwarf_Error error = NULL;
  if (dwarf_get_fde_info_for_reg3_b(fde, column, pc, &kind, &relevant, &base, &offset, &block, &row, &more, &next,
                                    &error) != DW_DLV_OK)
    return (struct rule){0};
  return rule_of(kind, relevant, base, offset, block);
}

static void append(char* text, struct rule rule) {
  text += strlen(text);
  if (rule.is_usual)
    strcpy(text, " - 0 0");
  else
    sprintf(text, " %ld %ld %d", rule.base, rule.offset, rule.is_dereferenced);
}

static bool is_same(struct rule a, struct rule b) {
  return a.base == b.base && a.offset == b.offset && a.is_dereferenced == b.is_dereferenced;
}

/// A rule in terms of what the CFA counts from.
static struct rule rebased(struct rule rule, struct rule cfa) {
  if (rule.is_usual || rule.base != -1 || cfa.is_dereferenced) return rule;
  rule.base = cfa.base;
  rule.offset += cfa.offset;
  return rule;
}

/// The row's words, for its first PC; those of a PLT change from PC to PC.
static void describe(Dwarf_Fde fde, struct rule cfa, Dwarf_Addr pc, char* text) {
  struct rule ra = rule_of_register(fde, return_address, pc), fp = rule_of_register(fde, rbp, pc),
              sp = rule_of_register(fde, rsp, pc);
  bool sp_is_cfa = sp.is_usual || sp.is_undefined || (sp.is_known && is_same(sp, (struct rule){.base = -1})) ||
                   (sp.is_known && is_same(sp, cfa));
  // What SFrame calls the CFA is the caller's SP. longjmp() has it in a register, and setcontext() in memory.
  if (!sp_is_cfa && sp.is_known) {
    sp = rebased(sp, cfa);
    ra = rebased(ra, cfa);
    fp = rebased(fp, cfa);
    sp_is_cfa = sp.base != -1 && ra.base != -1 && (fp.is_usual || fp.base != -1);
    if (sp_is_cfa) cfa = sp;
  }
  // A callee need not save what it has no rule for.
  if (fp.is_undefined) fp.is_usual = true;
  if (ra.is_known && ra.is_undefined) {
    strcpy(text, "u undefined");
    return;
  }
  const bool is_cfa_itself =
      (!fp.is_usual && fp.base == -1 && !fp.is_dereferenced) || (ra.base == -1 && !ra.is_dereferenced);
  if (!cfa.is_known || !ra.is_known || ra.is_usual || !fp.is_known || !sp_is_cfa || is_cfa_itself) {
    strcpy(text, "?");
    return;
  }
  if (is_same(ra, (struct rule){.is_dereferenced = true, .base = -1, .offset = -8})) ra.is_usual = true;
  const bool is_plain =
      (cfa.base == rsp || cfa.base == rbp) && !cfa.is_dereferenced && ra.is_usual && (fp.is_usual || fp.base == -1);
  strcpy(text, is_plain ? "=" : "+");
  append(text, cfa);
  append(text, ra);
  append(text, fp);
}

static void print_function(Dwarf_Fde fde, long address) {
  Dwarf_Addr begin = 0;
  Dwarf_Unsigned size = 0, bytes = 0;
  Dwarf_Ptr data = NULL;
  Dwarf_Off cie = 0, offset = 0;
  Dwarf_Signed index = 0;
  Dwarf_Error error = NULL;
  if (dwarf_get_fde_range(fde, &begin, &size, &data, &bytes, &cie, &index, &offset, &error) != DW_DLV_OK) exit(3);
  for (Dwarf_Addr pc = begin; pc < begin + size;) {
    Dwarf_Small kind = 0;
    Dwarf_Signed relevant = 0, base = 0, at = 0;
    Dwarf_Ptr block = NULL;
    Dwarf_Addr row = 0, next = 0;
    Dwarf_Bool more = 0;
    if (dwarf_get_fde_info_for_cfa_reg3_b(fde, pc, &kind, &relevant, &base, &at, &block, &row, &more, &next, &error) !=
        DW_DLV_OK)
      exit(3);
    const Dwarf_Addr end = more && next > pc && next < begin + size ? next : begin + size;
    struct rule cfa = rule_of(kind, relevant, base, at, block);
    const bool is_expression = kind == DW_EXPR_EXPRESSION || kind == DW_EXPR_VAL_EXPRESSION;
    // What an expression gives is the CFA. rule_of() knows of addresses of registers.
    if (is_expression) cfa = rule_of_expression(block, (unsigned long)at, false);
    if (!is_expression) cfa.is_dereferenced = false;
    const bool is_plt = is_expression && rule_of_plt(block, (unsigned long)at, pc).is_known;
    char text[4 * text_size] = "";
    describe(fde, cfa, pc, text);
    for (; pc < end; pc++) {
      if (is_plt) describe(fde, rule_of_plt(block, (unsigned long)at, pc), pc, text);
      printf("%ld %s\n", (long)pc - address, text);
    }
  }
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  Dwarf_Debug file = NULL;
  Dwarf_Cie* cies = NULL;
  Dwarf_Fde* fdes = NULL;
  Dwarf_Signed cie_count = 0, fde_count = 0;
  Dwarf_Error error = NULL;
  const int descriptor = open(arguments[1], O_RDONLY);
  if (descriptor < 0 || dwarf_init(descriptor, DW_DLC_READ, NULL, NULL, &file, &error) != DW_DLV_OK) return 3;
  dwarf_set_frame_rule_table_size(file, register_count + 100);
  dwarf_set_frame_cfa_value(file, cfa_column);
  dwarf_set_frame_same_value(file, same);
  dwarf_set_frame_undefined_value(file, undefined);
  dwarf_set_frame_rule_initial_value(file, same);
  if (dwarf_get_fde_list_eh(file, &cies, &cie_count, &fdes, &fde_count, &error) != DW_DLV_OK) return 3;
  for (Dwarf_Signed i = 0; i < fde_count; i++) print_function(fdes[i], strtol(arguments[2], NULL, 0));
  return fflush(stdout) == 0 ? 0 : 3;
}
