/* Files whose code executes, and their rows. Part of the Valgrind tool of row_judge.c. */
#ifndef JUDGE_JUDGED_FILES_H
#define JUDGE_JUDGED_FILES_H

#include "pub_tool_basics.h"
#include "pub_tool_hashtable.h"
#include "rows.h"

/* What says where callers are, each in a file of rows of this name. */
enum Source { SOURCE_CFI, SOURCE_SFRAME, SOURCE_PROOF, SOURCES };
extern const HChar* const source_names[SOURCES];

enum Wrong { WRONG_CFA, WRONG_RETURN_ADDRESS, WRONG_FRAME_POINTER, WRONGS };

/* What was wrong first at a place. */
typedef struct {
  ULong counts[WRONGS];
  Addr stack_pointer, frame_pointer, expected[WRONGS], found;
} Mistake;

typedef struct File File;

/* An instruction of a file. */
typedef struct Place {
  struct Place* next; /* what Valgrind's hash tables need, with the key */
  UWord address;      /* virtual */
  File* file;
  const Row* rows[SOURCES]; /* null: there is none */
  Bool is_same_as_cfi[SOURCES];
  ULong steps, judged, checks[SOURCES];
  Mistake* mistakes[SOURCES]; /* null: none so far */
} Place;

struct File {
  File* next;
  HChar* path;
  VgHashTable* places;
  Segment* segments;
  ULong segment_count;
  Row* rows[SOURCES];
  ULong row_counts[SOURCES];
};

/* `folder` has the rows of /a/file in a/file/SOURCE, where `command`, given the path, puts them. */
void set_files(const HChar* folder, const HChar* command, const HChar* only);

/* The place of code in memory; null if it is in no file that is judged. */
Place* place_at(Addr address);

File* judged_files(void);

#endif
