/* clock.h: the time that durations are taken from. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t leat_cli_now_ns(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}
