// Walks of stacks by .sframe, inside the program that they are walks of. tools/go/stacks reads what they leave.
#pragma once

// From here on, each SIGPROF is recorded before Go's handler gets it, and other threads get one now and then.
void walks_begin(const char* file, long records, long per_second, long steps);
// Steps that were compared, and that differed.
void walks_end(void);
