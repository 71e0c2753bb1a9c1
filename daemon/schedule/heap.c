/* heap.c: see heap.h and mallopt(3). */
#include "daemon/schedule/heap.h"

#include <malloc.h>

#include "pipeline/memory/arena.h"

#define MAX_HEAPS 8
/* Large blocks come and go in any order and size, and would leave holes in a heap. Smaller ones are
 * used again by malloc at once: a mapping for each costs more than the copy into it. */
#define MAPPED_BYTES (128 << 10)

void leat_heap_limit(void) {
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, 4 * LEAT_ARENA_CHUNK_BYTES);
    (void)mallopt(M_ARENA_MAX, MAX_HEAPS);
}

static void trim_work(struct leat_task *task) {
    (void)task;
    (void)malloc_trim(0);
}

static void trim_done(struct leat_task *task) {
    ((struct leat_heap *)task)->is_out = false;
}

void leat_heap_tick(struct leat_heap *heap, struct leat_scheduler *scheduler) {
    if (!heap->is_due || heap->is_out)
        return;
    heap->is_due = false;
    heap->is_out = true;
    heap->task.class = LEAT_TASK_SLOW;
    heap->task.work = trim_work;
    heap->task.done = trim_done;
    leat_scheduler_add(scheduler, NULL, &heap->task);
}
