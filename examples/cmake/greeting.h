#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Prints it. Returns the number of letters greeted, or -1 if there is nobody. */
int greeting(const char *name);

#ifdef __cplusplus
}
#endif
