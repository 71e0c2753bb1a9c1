/* skip.h: how a unit test skips a case. Include cmocka.h before. */
#ifndef LEAT_TESTS_SKIP_H
#define LEAT_TESTS_SKIP_H

#include <stdio.h>
#include <stdlib.h>

/* Ends the case named after the calling function, and prints why, as tests/suite.py reads it. */
#define SKIP_CASE(reason)                                                                          \
    do {                                                                                           \
        (void)printf("skipped: %s: %s\n", __func__, (reason));                                     \
        skip();                                                                                    \
    } while (0)

/* The same under qemu-user, where the preset aarch64 sets LEAT_TEST_EMULATED: for what qemu does
 * otherwise than the kernel. */
#define SKIP_CASE_IF_EMULATED(reason)                                                              \
    do {                                                                                           \
        if (getenv("LEAT_TEST_EMULATED"))                                                          \
            SKIP_CASE(reason);                                                                     \
    } while (0)

#endif
