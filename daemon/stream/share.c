/* share.c: see share.h. */
#include "daemon/stream/share.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/daemon.h"
#include "daemon/trainer/session.h"
#include "pipeline/plan/data_digest.h"

/* ---- which ---- */

/* The very same files, as they were when they were looked at. */
static bool has_same_data(const struct leat_plan *a, const struct leat_plan *b) {
    return a->data && b->data && a->data->n_files == b->data->n_files &&
           memcmp(a->data_digest, b->data_digest, LEAT_DIGEST_BYTES) == 0 &&
           memcmp(a->data->identities, b->data->identities,
                  a->data->n_files * sizeof(a->data->identities[0])) == 0;
}

static bool is_same(const struct leat_share *share, const struct leat_opening *opening) {
    const struct leat_session *session = opening->session;

    return share->user == session->user && share->seed == session->seed &&
           share->hub.world_size == session->world_size &&
           share->options.opener == opening->run_options.opener &&
           share->options.has_seed == opening->run_options.has_seed &&
           strcmp(share->plan->spec->name, opening->plan->spec->name) == 0 &&
           memcmp(share->plan->spec_digest, opening->plan->spec_digest, LEAT_DIGEST_BYTES) == 0 &&
           memcmp(share->plan->skips_digest, opening->plan->skips_digest, LEAT_DIGEST_BYTES) == 0 &&
           share->options.on_change == opening->run_options.on_change &&
           share->plan->options.uneven == opening->plan->options.uneven &&
           has_same_data(share->plan, opening->plan);
}

static bool make_room(void *user, struct leat_hub_run *run, uint32_t n_slots) {
    (void)user;
    return leat_feed_make_room(leat_feed_of(run), n_slots);
}

static const struct leat_hub_ops hub_ops = {.make_room = make_room};

static struct leat_share *add(struct leat_opening *opening) {
    struct leat_daemon *daemon = opening->daemon;
    struct leat_share *share = calloc(1, sizeof(*share));

    if (!share)
        return NULL;
    share->daemon = daemon;
    share->plan = leat_plan_ref(opening->plan);
    share->user = leat_user_ref(opening->session->user);
    share->stream = leat_daemon_stream_ref(opening->stream);
    share->roots = leat_roots_ref(opening->roots);
    share->options = opening->run_options;
    share->kept = opening->kept;
    share->seed = opening->session->seed;
    leat_hub_init(&share->hub, opening->session->world_size, &hub_ops, share);
    share->next = daemon->shares;
    share->link = &daemon->shares;
    if (share->next)
        share->next->link = &share->next;
    daemon->shares = share;
    return leat_share_ref(share);
}

struct leat_share *leat_share_get(struct leat_opening *opening) {
    for (struct leat_share *share = opening->daemon->shares; share; share = share->next)
        if (is_same(share, opening))
            return leat_share_ref(share);
    return add(opening);
}

struct leat_share *leat_share_ref(struct leat_share *share) {
    share->n_refs++;
    return share;
}

struct leat_share *leat_share_unref(struct leat_share *share) {
    if (!share || --share->n_refs > 0)
        return NULL;
    *share->link = share->next;
    if (share->next)
        share->next->link = share->link;
    leat_plan_unref(share->plan);
    leat_user_unref(share->user);
    leat_streams_unref(&share->daemon->streams, share->stream);
    leat_roots_unref(share->roots);
    free(share);
    return NULL;
}

/* ---- what the hub says ---- */

/* It waits for room; unless nobody is there who could make any. */
static void not_started(struct leat_share *share, struct leat_hub_session *session,
                        const struct leat_error *err) {
    if (share->daemon->n_feeds > 0 && leat_session_may_wait(leat_session_of(session), err)) {
        leat_hub_not_started(session);
        return;
    }
    leat_daemon_stream_fail(share->stream, err, true, share->daemon->next_feed);
    leat_session_fail(leat_session_of(session), err);
}

/* Batches that the trainers of a run may hold: all local ranks come, although not all at once. As
 * long as that is to be had. */
static uint32_t window_of(const struct leat_share *share, const struct leat_hub_action *action) {
    uint32_t window = action->session->window;
    uint64_t all = action->n_ranks * window + LEAT_HUB_AHEAD;

    return action->n_ranks > 1 && all < LEAT_RING_MAX_SLOTS &&
                   leat_admission_fits(share->daemon, &share->user->memory, share->plan,
                                       (uint32_t)all)
               ? (uint32_t)all
               : window;
}

static void start(struct leat_share *share, const struct leat_hub_action *action) {
    struct leat_run_options options = share->options;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_feed *feed;

    options.first_epoch = action->place.epoch;
    options.first_step = action->place.step;
    options.first_rank = action->first_rank;
    options.n_ranks = action->n_ranks;
    options.round_phase = action->phase;
    options.n_epochs = action->n_epochs;
    options.n_steps = action->n_batches == LEAT_HUB_NO_LIMIT ? 0 : action->n_batches;
    if (leat_feed_new(share, &options, window_of(share, action), &feed, &err) == 0)
        leat_hub_started(action->session, &feed->hub_run, action->first_rank, action->n_ranks);
    else
        not_started(share, action->session, &err);
}

static void act(struct leat_share *share, const struct leat_hub_action *action) {
    switch (action->kind) {
    case LEAT_HUB_FREE:
        leat_feed_free_item((struct leat_feed_item *)action->item);
        break;
    case LEAT_HUB_WAKE:
        leat_session_mark(leat_session_of(action->session));
        break;
    case LEAT_HUB_START:
        start(share, action);
        break;
    case LEAT_HUB_EXTEND:
        leat_feed_extend(leat_feed_of(action->run));
        break;
    case LEAT_HUB_CLOSE:
        leat_feed_close(leat_feed_of(action->run));
        break;
    }
}

/* What is done may cause more, which is done here too. */
void leat_share_act(struct leat_share *share) {
    struct leat_hub_action action;

    if (share->is_acting)
        return;
    share->is_acting = true;
    (void)leat_share_ref(share);
    while (leat_hub_next_action(&share->hub, &action))
        act(share, &action);
    share->is_acting = false;
    leat_share_unref(share);
}

/* What the hub says waits until all were told: the last who leaves would take the feed with it. */
void leat_share_on_started(struct leat_feed *feed, const struct leat_error *err) {
    struct leat_hub_session *session = feed->hub_run.sessions, *next;
    struct leat_share *share = leat_share_ref(feed->share);

    assert(!share->is_acting);
    share->is_acting = true;
    for (; session; session = next) {
        next = session->next_session;
        leat_session_on_started(leat_session_of(session), err);
    }
    if (err)
        leat_daemon_stream_fail(feed->stream, err, true, feed->daemon->next_feed);
    if (err)
        leat_hub_abort(&feed->hub_run);
    share->is_acting = false;
    leat_share_act(share);
    leat_share_unref(share);
}
