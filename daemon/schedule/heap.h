/* heap.h: gives freed memory back to the system, without which a limit of memory would be none.
 *
 * Large pieces have mappings of their own and are used again by the daemon's pools. Small ones, as
 * in vocabularies, leave pages in the heaps of malloc that no account counts. Where memory is
 * limited, a task of the pool gives them back soon after a run has ended. Owner: loop.
 */
#pragma once

#include "daemon/schedule/scheduler.h"

struct leat_heap {
    struct leat_task task;
    bool is_due, is_out;
};

/* Sets up malloc for a limit; before any thread is made. */
void leat_heap_limit(void);
/* About once a second. */
void leat_heap_tick(struct leat_heap *heap, struct leat_scheduler *scheduler);
