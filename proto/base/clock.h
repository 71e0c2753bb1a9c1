/* clock.h: the system's clocks, in nanoseconds (clock_gettime(2)). Any thread. */
#pragma once

#include <stdint.h>
#include <time.h>

/* 0: the clock is of a process or thread that ended. */
static inline uint64_t leat_clock_ns(clockid_t clock) {
    struct timespec now;

    if (clock_gettime(clock, &now) < 0)
        return 0;
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Never goes back; says nothing about the time of day. */
static inline uint64_t leat_now_ns(void) {
    return leat_clock_ns(CLOCK_MONOTONIC);
}

/* Since 1970, in UTC; may be set back. */
static inline uint64_t leat_unix_ns(void) {
    return leat_clock_ns(CLOCK_REALTIME);
}

/* Processor time of the calling thread. */
static inline uint64_t leat_thread_ns(void) {
    return leat_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
