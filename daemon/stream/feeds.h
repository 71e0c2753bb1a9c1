/* feeds.h: all streams, shares and feeds, and what they have in common. Owner: loop. */
#pragma once

#include "daemon/schedule/heap.h"
#include "daemon/stream/stream.h"
#include "daemon/stream/tuner_store.h"
#include "daemon/system/env.h"
#include "pipeline/io/state_folder.h"
#include "pipeline/memory/budget.h"

struct leat_consumer;
struct leat_feed;
struct leat_memory_wait;
struct leat_share;

struct leat_feeds {
    struct leat_env *env;
    struct leat_streams streams;
    struct leat_share *shares;
    struct leat_feed *first, *dirty;
    struct leat_consumer *dirty_consumers;
    uint32_t n_feeds;
    uint64_t n_made;        /* feeds so far: the number of the latest */
    uint64_t n_generations; /* rings so far */
    struct leat_memory_wait *waits;
    struct leat_budget_user operator_memory; /* of plans built for no user */
    struct leat_heap heap;
    struct leat_tuner_store tuners;
    struct leat_state_folder indexes; /* of streams without a cache; no path: none */
};

/* Where indexes of blocks are kept of streams that name no folder; NULL: nowhere. */
static inline const char *leat_feeds_index_folder(const struct leat_feeds *feeds) {
    return feeds->indexes.path[0] ? feeds->indexes.path : NULL;
}
