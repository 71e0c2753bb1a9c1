/* consumer.h: a reader of a share's batches, as shares and feeds know it: a trainer's session fills
 * in the operations.
 *
 * A consumer joins one share, and leaves it before it ends. Owner: loop.
 */
#pragma once

#include "daemon/stream/broadcast.h"
#include "proto/base/container_of.h"
#include "proto/base/error.h"

struct leat_share;
struct leat_consumer;

struct leat_consumer_ops {
    /* The run that it begins with has slots, or (err) could not get any. */
    void (*start)(struct leat_consumer *consumer, const struct leat_error *err);
    /* It was marked: it takes what is there, and passes it on. */
    void (*flush)(struct leat_consumer *consumer);
    /* No run can be made for it. */
    void (*fail)(struct leat_consumer *consumer, const struct leat_error *err);
    /* There is no memory for its run, for this reason: true if it waits for some. */
    bool (*may_wait)(struct leat_consumer *consumer, const struct leat_error *err);
    /* Tells its trainer something that does not end the stream. */
    void (*notify)(struct leat_consumer *consumer, const struct leat_error *notice);
    /* True if its trainer could take a batch and none is ready. */
    bool (*is_starved)(const struct leat_consumer *consumer);
    /* True if it took batches that its trainer has not been told of. */
    bool (*has_unsent)(const struct leat_consumer *consumer);
};

struct leat_consumer {
    const struct leat_consumer_ops *ops;
    struct leat_broadcast_reader reader; /* what it wants of the share, and holds */
    struct leat_share *share;            /* a reference, kept when it has left; NULL: none yet */
    struct leat_consumer *next, **link;  /* of the share's; link NULL: it is not with it */
    struct leat_consumer *next_dirty;    /* of the daemon's */
    bool is_dirty;
};

static inline struct leat_consumer *leat_consumer_of(const struct leat_broadcast_reader *reader) {
    return LEAT_CONTAINER_OF(reader, struct leat_consumer, reader);
}
