/* hub_internal.h: what hub.c (sessions, items, actions) and hub_run.c (who is on which run) share.
 */
#pragma once

#include "daemon/stream/hub.h"

static inline int leat_hub_compare(struct leat_hub_place a, struct leat_hub_place b) {
    if (a.epoch != b.epoch)
        return a.epoch < b.epoch ? -1 : 1;
    return a.step < b.step ? -1 : a.step > b.step;
}

static inline struct leat_hub_place leat_hub_place_of(const struct leat_hub_item *item) {
    return (struct leat_hub_place){item->epoch, item->is_end ? UINT64_MAX : item->step};
}

static inline struct leat_hub_place leat_hub_place_behind(const struct leat_hub_item *item) {
    return item->is_end ? (struct leat_hub_place){item->epoch + 1, 0}
                        : (struct leat_hub_place){item->epoch, item->step + 1};
}

static inline uint64_t leat_hub_phase(const struct leat_hub_session *session) {
    return session->next.epoch == session->first_epoch ? session->phase : 0;
}

/* Runs begin with a round: one batch for each rank of the world. */
static inline struct leat_hub_place leat_hub_round_of(const struct leat_hub_session *session) {
    struct leat_hub_place next = session->next;

    next.step -= (next.step - leat_hub_phase(session)) % session->hub->world_size;
    return next;
}

static inline bool leat_hub_wants(const struct leat_hub_session *session,
                                  const struct leat_hub_item *item) {
    return leat_hub_compare(leat_hub_place_of(item), session->next) >= 0 &&
           (item->is_end || item->step % session->hub->world_size == session->rank);
}

/* Items and wakes (hub.c). Frees an item that is not in use, unless it is kept. */
void leat_hub_drop_if_unused(struct leat_hub_item *item);
void leat_hub_wake(struct leat_hub_session *session);
void leat_hub_ask(struct leat_hub_session *session);
void leat_hub_forget(struct leat_hub_session *session); /* neither wakes nor asks */
void leat_hub_add_action(struct leat_hub_run *run);

/* Runs (hub_run.c). The first item from there on that it wants, or NULL. */
struct leat_hub_item *leat_hub_find_wanted(const struct leat_hub_session *session,
                                           struct leat_hub_item *item);
/* On a run that has what it wants next: true, or there is none. */
bool leat_hub_place_session(struct leat_hub_session *session);
/* Off its run, and it wants nothing of it. */
void leat_hub_detach(struct leat_hub_session *session);
/* Its run is over, and it has had all of it. */
void leat_hub_leave_ended(struct leat_hub_session *session);
void leat_hub_end_run(struct leat_hub_run *run);
void leat_hub_relieve(struct leat_hub_run *run);
void leat_hub_set_hungry(struct leat_hub_session *session, bool is_hungry);
/* Whether somebody reads batches of that item's rank. */
bool leat_hub_is_rank_read(const struct leat_hub_run *run, const struct leat_hub_item *item);
void leat_hub_merge(struct leat_hub_run *run);
