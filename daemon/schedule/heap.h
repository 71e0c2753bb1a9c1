/* heap.h: what was freed goes back to the system, or a limit of memory would not be one.
 *
 * Large pieces have mappings of their own, and are used again from our own pools. Small ones, as
 * vocabularies are made of, leave pages in the heaps of malloc, which no account knows of: where
 * memory is limited they are given back soon after a run has ended, by a task of the pool.
 * Owner: loop.
 */
#pragma once

#include "daemon/schedule/scheduler.h"

struct leat_heap {
    struct leat_task task;
    bool is_due, is_out;
};

/* Before any thread is made. */
void leat_heap_limit(void);
/* A run has ended. */
void leat_heap_freed(struct leat_heap *heap);
/* About once a second. */
void leat_heap_tick(struct leat_heap *heap, struct leat_scheduler *scheduler);
