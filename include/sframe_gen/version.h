/* The version of these headers. sframe_gen_version() and sframe_unwind_version() return that of the library in use. */
#ifndef SFRAME_GEN_VERSION_H
#define SFRAME_GEN_VERSION_H

#define SFRAME_GEN_VERSION_MAJOR 1
#define SFRAME_GEN_VERSION_MINOR 0
#define SFRAME_GEN_VERSION_PATCH 0
#define SFRAME_GEN_VERSION_STRING "1.0.0"

/* To compare by: `#if SFRAME_GEN_VERSION_NUMBER >= SFRAME_GEN_MAKE_VERSION(1, 2, 0)`. */
#define SFRAME_GEN_MAKE_VERSION(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define SFRAME_GEN_VERSION_NUMBER \
  SFRAME_GEN_MAKE_VERSION(SFRAME_GEN_VERSION_MAJOR, SFRAME_GEN_VERSION_MINOR, SFRAME_GEN_VERSION_PATCH)

#endif
