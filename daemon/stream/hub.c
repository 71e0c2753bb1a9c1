/* hub.c: sessions take and release; items come and are freed; actions go out. */
#include "daemon/stream/hub.h"

#include <assert.h>
#include <string.h>

#include "daemon/stream/hub_internal.h"

void leat_hub_init(struct leat_hub *hub, uint64_t world_size, const struct leat_hub_ops *ops,
                   void *user) {
    *hub = (struct leat_hub){.world_size = world_size, .ops = ops, .user = user};
    hub->last_freed = &hub->first_freed;
    hub->last_woken = &hub->first_woken;
    hub->last_asking = &hub->first_asking;
    hub->last_action = &hub->first_action;
}

/* ---- items ---- */

static void unlink_item(struct leat_hub_item *item) {
    struct leat_hub_run *run = item->run;

    if (item->previous)
        item->previous->next = item->next;
    else
        run->first = item->next;
    if (item->next)
        item->next->previous = item->previous;
    else
        run->last = item->previous;
}

static void free_item(struct leat_hub_item *item) {
    struct leat_hub *hub = item->run->hub;

    item->next_freed = NULL;
    *hub->last_freed = item;
    hub->last_freed = &item->next_freed;
}

static bool is_kept(const struct leat_hub_item *item) {
    const struct leat_hub_run *run = item->run;

    return run->n_ranks > 1 && !run->is_closed && !run->is_starved && !item->is_end &&
           !leat_hub_is_rank_read(run, item);
}

void leat_hub_drop_if_unused(struct leat_hub_item *item) {
    struct leat_hub_place behind = leat_hub_place_behind(item);
    struct leat_hub_run *run = item->run;

    if (item->n_wants > 0 || item->n_holds > 0 || is_kept(item))
        return;
    if (leat_hub_compare(run->tail, behind) < 0)
        run->tail = behind;
    unlink_item(item);
    free_item(item);
}

void leat_hub_pin(struct leat_hub_item *item) {
    item->n_holds++;
}

void leat_hub_unpin(struct leat_hub_item *item) {
    assert(item->n_holds > 0);
    item->n_holds--;
    leat_hub_drop_if_unused(item);
}

static void append(struct leat_hub_run *run, struct leat_hub_item *item) {
    item->next = NULL;
    item->previous = run->last;
    if (run->last)
        run->last->next = item;
    else
        run->first = item;
    run->last = item;
    run->head = leat_hub_place_behind(item);
}

/* Those on it, and those that come to it when they have had their own run's items. */
static void count_wants(struct leat_hub_run *run, struct leat_hub_item *item) {
    struct leat_hub_session *session = run->sessions, *next;
    const struct leat_hub_run *other = run->n_predecessors > 0 ? run->hub->runs : NULL;

    for (; session; session = next) {
        next = session->next_session;
        if (!leat_hub_wants(session, item))
            continue;
        item->n_wants++;
        if (!session->cursor)
            session->cursor = item;
        leat_hub_wake(session);
    }
    for (; other; other = other->next)
        if (other->successor == run && leat_hub_compare(leat_hub_place_of(item), other->until) >= 0)
            for (session = other->sessions; session; session = session->next_session)
                item->n_wants += leat_hub_wants(session, item);
}

/* What is not to be had from it: its successor makes that; or it was told to end there, which is no
 * end of an epoch. */
static bool is_beyond(const struct leat_hub_run *run, const struct leat_hub_item *item) {
    return run->has_ended ||
           (run->successor && leat_hub_compare(leat_hub_place_of(item), run->until) >= 0) ||
           (item->is_end && item->is_last && run->n_batches >= run->n_wanted);
}

void leat_hub_output(struct leat_hub_run *run, struct leat_hub_item *item) {
    item->run = run;
    item->n_wants = item->n_holds = 0;
    if (is_beyond(run, item)) {
        free_item(item);
        leat_hub_end_run(run);
        return;
    }
    run->n_outputs++;
    run->n_batches += !item->is_end;
    append(run, item);
    count_wants(run, item);
    if (item->is_last || (run->successor && leat_hub_compare(run->head, run->until) >= 0))
        leat_hub_end_run(run);
    leat_hub_drop_if_unused(item);
    leat_hub_merge(run);
}

/* ---- sessions ---- */

void leat_hub_wake(struct leat_hub_session *session) {
    struct leat_hub *hub = session->hub;

    if (!session->is_hungry)
        return;
    leat_hub_set_hungry(session, false);
    if (session->is_woken)
        return;
    session->is_woken = true;
    session->next_woken = NULL;
    *hub->last_woken = session;
    hub->last_woken = &session->next_woken;
}

void leat_hub_ask(struct leat_hub_session *session) {
    struct leat_hub *hub = session->hub;

    if (session->is_asking)
        return;
    session->is_asking = true;
    session->next_asking = NULL;
    *hub->last_asking = session;
    hub->last_asking = &session->next_asking;
}

static struct leat_hub_session *pop_woken(struct leat_hub *hub) {
    struct leat_hub_session *session = hub->first_woken;

    if (!session)
        return NULL;
    hub->first_woken = session->next_woken;
    if (!hub->first_woken)
        hub->last_woken = &hub->first_woken;
    session->is_woken = false;
    return session;
}

static struct leat_hub_session *pop_asking(struct leat_hub *hub) {
    struct leat_hub_session *session = hub->first_asking;

    if (!session)
        return NULL;
    hub->first_asking = session->next_asking;
    if (!hub->first_asking)
        hub->last_asking = &hub->first_asking;
    session->is_asking = false;
    return session;
}

void leat_hub_forget(struct leat_hub_session *session) {
    struct leat_hub *hub = session->hub;
    struct leat_hub_session **link;

    if (session->is_woken) {
        for (link = &hub->first_woken; *link != session;)
            link = &(*link)->next_woken;
        *link = session->next_woken;
        if (!*link)
            hub->last_woken = link;
    }
    if (session->is_asking) {
        for (link = &hub->first_asking; *link != session;)
            link = &(*link)->next_asking;
        *link = session->next_asking;
        if (!*link)
            hub->last_asking = link;
    }
    session->is_woken = session->is_asking = session->is_waiting = false;
}

void leat_hub_join(struct leat_hub *hub, struct leat_hub_session *session) {
    uint64_t round = session->next.step - session->next.step % hub->world_size;

    assert(!session->hub && session->rank >= session->first_rank &&
           session->rank < session->first_rank + session->n_ranks);
    session->hub = hub;
    session->phase %= hub->world_size;
    session->first_epoch = session->next.epoch;
    if (session->next.step > round + session->rank)
        round += hub->world_size;
    session->next.step = round + session->rank;
    session->end_epoch =
        session->n_epochs > 0 ? session->next.epoch + session->n_epochs : LEAT_HUB_NO_LIMIT;
    hub->n_sessions++;
}

/* It has had all that it wanted. */
static enum leat_hub_taken_kind finish(struct leat_hub_session *session, uint64_t epoch,
                                       uint64_t n_steps, struct leat_hub_taken *ret_taken) {
    *ret_taken = (struct leat_hub_taken){.epoch = epoch, .step = n_steps, .is_last = true};
    session->is_finished = true;
    leat_hub_detach(session);
    return LEAT_HUB_END;
}

static enum leat_hub_taken_kind take_end(struct leat_hub_session *session,
                                         struct leat_hub_item *item,
                                         struct leat_hub_taken *ret_taken) {
    uint64_t epoch = item->epoch, n_steps = item->step;

    session->next = (struct leat_hub_place){epoch + 1, session->rank};
    session->cursor = leat_hub_find_wanted(session, item->next);
    item->n_wants--;
    leat_hub_drop_if_unused(item);
    if (epoch + 1 >= session->end_epoch)
        return finish(session, epoch, n_steps, ret_taken);
    *ret_taken = (struct leat_hub_taken){.epoch = epoch, .step = n_steps};
    return LEAT_HUB_END;
}

static enum leat_hub_taken_kind take_batch(struct leat_hub_session *session,
                                           struct leat_hub_item *item,
                                           struct leat_hub_taken *ret_taken) {
    session->next = (struct leat_hub_place){item->epoch, item->step + session->hub->world_size};
    session->cursor = leat_hub_find_wanted(session, item->next);
    item->n_wants--;
    item->n_holds++;
    session->holds[session->n_holds++] = (struct leat_hub_hold){.item = item,
                                                                .generation = item->generation,
                                                                .epoch = item->epoch,
                                                                .step = item->step,
                                                                .slot = item->slot};
    if (session->n_left != LEAT_HUB_NO_LIMIT)
        session->n_left--;
    *ret_taken = (struct leat_hub_taken){.item = item, .epoch = item->epoch, .step = item->step};
    return LEAT_HUB_BATCH;
}

enum leat_hub_taken_kind leat_hub_take(struct leat_hub_session *session,
                                       struct leat_hub_taken *ret_taken) {
    if (session->is_finished)
        return LEAT_HUB_NOTHING;
    if (session->n_left == 0)
        return finish(session, session->next.epoch,
                      session->next.step - session->hub->world_size + 1, ret_taken);
    while (!session->cursor) {
        if (!session->run || !session->run->has_ended)
            return LEAT_HUB_NOTHING;
        if (session->run->has_failed)
            return LEAT_HUB_FAILED;
        leat_hub_leave_ended(session);
    }
    if (session->cursor->is_end)
        return take_end(session, session->cursor, ret_taken);
    if (session->n_holds >= session->window)
        return LEAT_HUB_NOTHING;
    return take_batch(session, session->cursor, ret_taken);
}

uint32_t leat_hub_lack(const struct leat_hub_session *session) {
    const struct leat_hub_item *item = session->cursor;
    uint32_t n = session->window - session->n_holds;

    for (; item && n > 0; item = leat_hub_find_wanted(session, item->next))
        n -= !item->is_end;
    return n;
}

void leat_hub_wait(struct leat_hub_session *session) {
    if (session->is_finished || session->cursor || session->n_holds >= session->window)
        return;
    leat_hub_set_hungry(session, true);
    if (session->run && session->run->has_ended)
        leat_hub_wake(session);
    else if (session->run)
        leat_hub_relieve(session->run);
    else if (!session->is_waiting)
        leat_hub_ask(session);
}

void leat_hub_announce(struct leat_hub_session *session, uint32_t n_batches, bool keeps_slot) {
    assert(session->n_announced + n_batches <= session->n_holds);
    for (; n_batches > 0; n_batches--) {
        struct leat_hub_hold *hold = &session->holds[session->n_announced++];

        if (keeps_slot)
            continue;
        leat_hub_unpin(hold->item);
        hold->item = NULL;
    }
}

static void remove_hold(struct leat_hub_session *session, uint32_t index) {
    struct leat_hub_item *item = session->holds[index].item;

    session->n_holds--;
    if (index < session->n_announced)
        session->n_announced--;
    memmove(&session->holds[index], &session->holds[index + 1],
            (session->n_holds - index) * sizeof(session->holds[0]));
    if (item)
        leat_hub_unpin(item);
}

static bool hold_is(const struct leat_hub_hold *hold, uint32_t slot, uint64_t epoch,
                    uint64_t step) {
    return hold->slot == slot && hold->epoch == epoch && hold->step == step;
}

bool leat_hub_release(struct leat_hub_session *session, uint64_t generation, uint32_t slot,
                      uint64_t epoch, uint64_t step) {
    for (uint32_t i = 0; i < session->n_announced; i++) {
        const struct leat_hub_hold *hold = &session->holds[i];

        if (hold_is(hold, slot, epoch, step) && hold->generation == generation) {
            remove_hold(session, i);
            return true;
        }
    }
    return false;
}

void leat_hub_release_all(struct leat_hub_session *session) {
    while (session->n_holds > 0)
        remove_hold(session, session->n_holds - 1);
}

void leat_hub_release_copies(struct leat_hub_session *session) {
    for (uint32_t i = session->n_holds; i > 0; i--)
        if (!session->holds[i - 1].item)
            remove_hold(session, i - 1);
}

void leat_hub_leave(struct leat_hub_session *session) {
    if (session->has_left)
        return;
    session->has_left = true;
    if (!session->is_finished)
        leat_hub_detach(session);
    session->is_finished = true;
    leat_hub_forget(session);
    while (session->n_holds > session->n_announced)
        remove_hold(session, session->n_holds - 1);
    session->hub->n_sessions--;
}

/* ---- actions ---- */

void leat_hub_add_action(struct leat_hub_run *run) {
    struct leat_hub *hub = run->hub;

    if (run->has_action)
        return;
    run->has_action = true;
    run->next_action = NULL;
    *hub->last_action = run;
    hub->last_action = &run->next_action;
}

static bool next_run_action(struct leat_hub *hub, struct leat_hub_action *ret_action) {
    struct leat_hub_run *run = hub->first_action;

    if (!run)
        return false;
    hub->first_action = run->next_action;
    if (!hub->first_action)
        hub->last_action = &hub->first_action;
    run->has_action = false;
    *ret_action = (struct leat_hub_action){
        .kind = run->is_closed ? LEAT_HUB_CLOSE : LEAT_HUB_EXTEND, .run = run};
    return true;
}

/* The trainers of one machine share a run from the start; one that fell behind alone has its own
 * alone. */
static void start_action(struct leat_hub_session *session, struct leat_hub_action *ret_action) {
    bool is_alone = session->n_moves > 0;

    for (const struct leat_hub_session *other = session->hub->first_asking; other;
         other = other->next_asking)
        is_alone = is_alone && other->rank == session->rank;
    *ret_action = (struct leat_hub_action){
        .kind = LEAT_HUB_START,
        .session = session,
        .place = leat_hub_round_of(session),
        .phase = leat_hub_phase(session),
        .first_rank = is_alone ? session->rank : session->first_rank,
        .n_ranks = is_alone ? 1 : session->n_ranks,
        .n_epochs = session->n_epochs > 0 ? session->end_epoch - session->next.epoch : 0,
    };
    ret_action->n_batches = session->n_left == LEAT_HUB_NO_LIMIT
                                ? LEAT_HUB_NO_LIMIT
                                : session->n_left * ret_action->n_ranks;
}

bool leat_hub_next_action(struct leat_hub *hub, struct leat_hub_action *ret_action) {
    struct leat_hub_item *item = hub->first_freed;
    struct leat_hub_session *session;

    if (item) {
        hub->first_freed = item->next_freed;
        if (!hub->first_freed)
            hub->last_freed = &hub->first_freed;
        *ret_action = (struct leat_hub_action){.kind = LEAT_HUB_FREE, .item = item};
        return true;
    }
    if (next_run_action(hub, ret_action))
        return true;
    while ((session = pop_asking(hub)))
        if (!leat_hub_place_session(session)) {
            start_action(session, ret_action);
            return true;
        }
    session = pop_woken(hub);
    *ret_action = (struct leat_hub_action){.kind = LEAT_HUB_WAKE, .session = session};
    return session != NULL;
}
