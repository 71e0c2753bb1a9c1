/* usage.h: the processor time of the calling thread, and how often it waited. Any thread. */
#pragma once

#include <stdint.h>

struct leat_usage {
    uint64_t cpu_ns;
    uint64_t n_blocked;   /* times that it went to sleep (disk, pipe, lock) */
    uint64_t n_displaced; /* times that another thread took its processor */
};

void leat_usage_read(struct leat_usage *ret_usage);

/* Splits the time between two looks: on a processor, ready to run but displaced, and the rest,
 * blocked. Each time that the thread lost its processor is taken to have cost the same. */
void leat_usage_split(const struct leat_usage *before, const struct leat_usage *after,
                      uint64_t wall_ns, uint64_t *ret_cpu_ns, uint64_t *ret_delay_ns);
