/* broadcast_internal.h: what broadcast.c (readers, items, actions) and broadcast_run.c (placing
 * readers on runs) share.
 */
#pragma once

#include "daemon/stream/broadcast.h"

static inline int leat_broadcast_compare(struct leat_broadcast_place a,
                                         struct leat_broadcast_place b) {
    if (a.epoch != b.epoch)
        return a.epoch < b.epoch ? -1 : 1;
    return a.step < b.step ? -1 : a.step > b.step;
}

static inline struct leat_broadcast_place
leat_broadcast_place_of(const struct leat_broadcast_item *item) {
    return (struct leat_broadcast_place){item->epoch, item->is_end ? UINT64_MAX : item->step};
}

static inline struct leat_broadcast_place
leat_broadcast_place_behind(const struct leat_broadcast_item *item) {
    return item->is_end ? (struct leat_broadcast_place){item->epoch + 1, 0}
                        : (struct leat_broadcast_place){item->epoch, item->step + 1};
}

static inline uint64_t leat_broadcast_phase(const struct leat_broadcast_reader *reader) {
    return reader->next.epoch == reader->first_epoch ? reader->phase : 0;
}

/* Runs begin with a round: one batch for each rank of the world. */
static inline struct leat_broadcast_place
leat_broadcast_round_of(const struct leat_broadcast_reader *reader) {
    struct leat_broadcast_place next = reader->next;

    next.step -= (next.step - leat_broadcast_phase(reader)) % reader->broadcast->world_size;
    return next;
}

static inline bool leat_broadcast_wants(const struct leat_broadcast_reader *reader,
                                        const struct leat_broadcast_item *item) {
    return leat_broadcast_compare(leat_broadcast_place_of(item), reader->next) >= 0 &&
           (item->is_end || item->step % reader->broadcast->world_size == reader->rank);
}

/* broadcast.c: frees an item that is neither wanted nor held, unless it is kept. */
void leat_broadcast_drop_if_unused(struct leat_broadcast_item *item);
void leat_broadcast_wake(struct leat_broadcast_reader *reader);
void leat_broadcast_ask(struct leat_broadcast_reader *reader);
void leat_broadcast_add_action(struct leat_broadcast_run *run);

/* broadcast_run.c: the first item from `item` on that the reader wants, or NULL. */
struct leat_broadcast_item *leat_broadcast_find_wanted(const struct leat_broadcast_reader *reader,
                                                       struct leat_broadcast_item *item);
/* Puts the reader on a run that has what it wants next. False: there is none. */
bool leat_broadcast_place_reader(struct leat_broadcast_reader *reader);
/* Takes the reader off its run, of which it wants nothing any more. */
void leat_broadcast_detach(struct leat_broadcast_reader *reader);
/* The reader has taken all of a run that has ended: it goes on at the successor, if any. */
void leat_broadcast_leave_ended(struct leat_broadcast_reader *reader);
void leat_broadcast_end_run(struct leat_broadcast_run *run);
/* Makes a slot of a starved run free for its hungry readers. */
void leat_broadcast_relieve(struct leat_broadcast_run *run);
void leat_broadcast_set_hungry(struct leat_broadcast_reader *reader, bool is_hungry);
/* True if a reader of the run, or one that will go on there, has that item's rank. */
bool leat_broadcast_is_rank_read(const struct leat_broadcast_run *run,
                                 const struct leat_broadcast_item *item);
/* Makes a run the successor of another where they have come close. */
void leat_broadcast_merge(struct leat_broadcast_run *run);
