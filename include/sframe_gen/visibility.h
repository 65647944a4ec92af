/* What a shared library exports: all that the headers of sframe_gen/ declare, and nothing else. Each header has its
   declarations between a BEGIN and an END; inline functions are compiled into their callers. */
#ifndef SFRAME_GEN_VISIBILITY_H
#define SFRAME_GEN_VISIBILITY_H

/* 0: nothing, 1: the C functions, 2: C++ as well. Only the archives of libsframe-unwind are built with less than 2: a
   shared library that contains the unwinder exports no more of it than it has asked for. */
#ifndef SFRAME_GEN_EXPORTED
#define SFRAME_GEN_EXPORTED 2
#endif

#if SFRAME_GEN_EXPORTED >= 1
#define SFRAME_GEN_BEGIN_C _Pragma("GCC visibility push(default)")
#define SFRAME_GEN_END_C _Pragma("GCC visibility pop")
#else
#define SFRAME_GEN_BEGIN_C
#define SFRAME_GEN_END_C
#endif

#if SFRAME_GEN_EXPORTED >= 2
#define SFRAME_GEN_BEGIN_CXX _Pragma("GCC visibility push(default)")
#define SFRAME_GEN_END_CXX _Pragma("GCC visibility pop")
#else
#define SFRAME_GEN_BEGIN_CXX
#define SFRAME_GEN_END_CXX
#endif

#endif
