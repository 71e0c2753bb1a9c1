/* private_pages.h: which pages of a private mapping were written to, and their restoring.
 *
 * A page that is written to becomes a copy of this process's own, which no longer shows what the
 * daemon writes. So the copies in a slot are dropped before its release is announced. Owner: the
 * mapping.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct leat_private_pages {
    int pagemap_fd;  /* of /proc/self/pagemap; -1: not opened */
    bool has_failed; /* a copy could not be dropped: later batches would show old writes */
};

#define LEAT_PRIVATE_PAGES_INIT ((struct leat_private_pages){.pagemap_fd = -1})

/* Drops the copies among the pages of those bytes, whose first page begins at `memory`. */
void leat_private_pages_restore(struct leat_private_pages *pages, const void *memory,
                                size_t n_bytes);
void leat_private_pages_deinit(struct leat_private_pages *pages);
