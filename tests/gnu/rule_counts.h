// Answers of a reader beside lines of cfi-rules.
#ifndef RULE_COUNTS_H
#define RULE_COUNTS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// `right`: the same rule. `left_out`: no row, where the version has no form for the rule. `missing`: no row, though it
/// has one. `wrong`: another rule.
struct counts {
  long right, left_out, missing, wrong;
};

/// Reads lines from standard input. `sayable`: the classes that the version can say. `answer` writes what the reader
/// says of a PC: "none", "undefined", or "CFA RA FP". Returns the exit status.
static int count_answers(const char* sayable, void (*answer)(void* context, long pc, char* text), void* context) {
  struct counts counts = {0};
  char line[256], text[256];
  while (fgets(line, sizeof line, stdin) != NULL) {
    char* expected = NULL;
    const long pc = strtol(line, &expected, 10);
    const char class = expected[1];
    expected += expected[2] == ' ' ? 3 : 2;
    expected[strcspn(expected, "\n")] = 0;
    answer(context, pc, text);
    const int can_be_said = strchr(sayable, class) != NULL;
    if (strcmp(text, "none") == 0) {
      ++*(can_be_said ? &counts.missing : &counts.left_out);
    } else if (class != '?' && strcmp(text, expected) == 0) {
      counts.right++;
    } else if (counts.wrong++ < 10) {
      printf("pc %ld: CFI has %c %s, the reader says %s\n", pc, class, expected, text);
    }
  }
  printf("right %ld\nleft-out %ld\nmissing %ld\nwrong %ld\n", counts.right, counts.left_out, counts.missing,
         counts.wrong);
  return counts.wrong != 0;
}

#endif
