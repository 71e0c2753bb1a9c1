/* usage.h: what a thread had of the processors, and what it waited for: of the calling thread. Any
 * thread. */
#pragma once

#include <stdint.h>

struct leat_usage {
    uint64_t cpu_ns;
    uint64_t n_blocked;   /* times that it went to sleep (disk, pipe, lock), */
    uint64_t n_displaced; /* and that others were put in its place */
};

void leat_usage_read(struct leat_usage *ret_usage);

/* What became of the time between two looks: on a processor, ready to run while others did, and, as
 * the rest, blocked. A thread that did both is taken to have lost as much each time. */
void leat_usage_split(const struct leat_usage *before, const struct leat_usage *after,
                      uint64_t wall_ns, uint64_t *ret_cpu_ns, uint64_t *ret_delay_ns);
