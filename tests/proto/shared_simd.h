/* shared_simd.h: the machine without its vectors, so that a test goes over what other machines do.
 */
#pragma once

#include "proto/base/simd.h"

#if defined(__x86_64__)
/* What __builtin_cpu_supports() looks at, in libgcc and compiler-rt. */
extern struct {
    unsigned vendor, type, subtype, features[1];
} __cpu_model __attribute__((visibility("hidden")));
#endif

/* From here on leat_simd_is_here() is false. False: this machine always has vectors, or never. */
static inline bool shared_simd_hide(void) {
#if defined(__x86_64__)
    bool was_here = leat_simd_is_here();

    __cpu_model.features[0] &= ~(1U << 10); /* AVX2 */
    __asm__ volatile("" ::: "memory");      /* the compiler knows this variable by another type */
    return was_here && !leat_simd_is_here();
#else
    return false;
#endif
}

/* Runs the group of tests, and once more without vectors. */
#define shared_simd_run_twice(tests, setup, teardown)                                              \
    (cmocka_run_group_tests(tests, setup, teardown) != 0 ||                                        \
     (shared_simd_hide() &&                                                                        \
      cmocka_run_group_tests_name("without vectors", tests, setup, teardown) != 0))
