/* ring.c: see ring.h. Set before there is any stream, and read only from then on. */
#include "client/python/src/ring.h"

static void (*on_forget)(const struct leat_ring *ring);

void leat_py_ring_unmapped(void *user, const struct leat_ring *ring) {
    (void)user;
    if (on_forget)
        on_forget(ring);
}

void leat_py_ring_watch(void (*forget)(const struct leat_ring *ring)) {
    on_forget = forget;
}
