/* Rows in the one form that all parts of the judge exchange: what an address needs to find its caller, whether
   .eh_frame says it or .sframe. C, since the Valgrind tool reads such files as well.

   A file of rows: RowsHeader, then its segments, then its rows, ascending and without overlap. Numbers are those of
   this machine. */
#ifndef JUDGE_ROWS_H
#define JUDGE_ROWS_H

#define ROWS_MAGIC 0x3153574f52474a55ULL

/* How a register of the caller, or the CFA, is found. */
enum RuleKind {
  RULE_LOST = 0,  /* it cannot be found */
  RULE_SAME = 1,  /* the register has its value still */
  RULE_AT = 2,    /* memory at base + offset has it */
  RULE_IS = 3,    /* it is base + offset */
  RULE_OTHER = 4, /* an expression that the judge does not evaluate */
};

/* As a base: the CFA. Others are DWARF's numbers of registers. */
#define BASE_CFA (-1)

typedef struct {
  unsigned char kind;
  signed char base;
  unsigned char unused[2];
  int offset;
} Rule;

typedef struct {
  unsigned long long begin, end; /* virtual addresses */
  Rule cfa, return_address, frame_pointer;
  unsigned is_outermost; /* there is no caller */
  unsigned unused;
} Row;

/* A PT_LOAD: where code at an offset of the file is in memory. */
typedef struct {
  unsigned long long offset, size, address;
} Segment;

typedef struct {
  unsigned long long magic, segments, rows;
} RowsHeader;

#endif
