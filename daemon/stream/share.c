#include "daemon/stream/share.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/stream/admission.h"
#include "daemon/stream/feeds.h"
#include "proto/base/list.h"

/* ---- which ---- */

/* The very same files, in the same state. */
static bool has_same_data(const struct leat_plan *a, const struct leat_plan *b) {
    return a->data && b->data && a->data->n_files == b->data->n_files &&
           memcmp(a->data_digest, b->data_digest, LEAT_DIGEST_BYTES) == 0 &&
           memcmp(a->data->states, b->data->states,
                  a->data->n_files * sizeof(a->data->states[0])) == 0;
}

static bool is_same(const struct leat_share *share, const struct leat_share *other) {
    const struct leat_run_options *a = &share->options, *b = &other->options;

    return share->user == other->user && share->seed == other->seed &&
           a->world_size == b->world_size && a->opener == b->opener && a->has_seed == b->has_seed &&
           a->on_change == b->on_change &&
           strcmp(share->plan->spec->name, other->plan->spec->name) == 0 &&
           memcmp(share->plan->spec_digest, other->plan->spec_digest, LEAT_DIGEST_BYTES) == 0 &&
           memcmp(share->plan->skips_digest, other->plan->skips_digest, LEAT_DIGEST_BYTES) == 0 &&
           has_same_data(share->plan, other->plan);
}

static bool make_room(void *user, struct leat_broadcast_run *run, uint32_t n_slots) {
    (void)user;
    return leat_feed_make_room(leat_feed_of(run), n_slots);
}

static const struct leat_broadcast_ops broadcast_ops = {.make_room = make_room};

static struct leat_share *share_ref(struct leat_share *share) {
    share->n_refs++;
    return share;
}

static void share_unref(struct leat_share *share) {
    if (--share->n_refs > 0)
        return;
    LEAT_LIST_REMOVE(share);
    leat_plan_unref(share->plan);
    leat_user_unref(share->user);
    leat_streams_unref(&share->feeds->streams, share->stream);
    leat_roots_unref(share->roots);
    free(share);
}

static struct leat_share *add_share(struct leat_feeds *feeds, const struct leat_share *wanted) {
    struct leat_share *share = calloc(1, sizeof(*share));

    if (!share)
        return NULL;
    share->feeds = feeds;
    share->plan = leat_plan_ref(wanted->plan);
    share->user = leat_user_ref(wanted->user);
    share->stream = leat_daemon_stream_ref(wanted->stream);
    share->roots = leat_roots_ref(wanted->roots);
    share->options = wanted->options;
    share->kept = wanted->kept;
    share->seed = wanted->seed;
    leat_broadcast_init(&share->broadcast, wanted->options.world_size, &broadcast_ops, share);
    LEAT_LIST_ADD(&feeds->shares, share);
    return share;
}

static struct leat_share *find_share(struct leat_feeds *feeds, const struct leat_share *wanted) {
    struct leat_share *share = feeds->shares;

    while (share && !is_same(share, wanted))
        share = share->next;
    return share ? share : add_share(feeds, wanted);
}

/* ---- consumers ---- */

int leat_share_join(struct leat_feeds *feeds, const struct leat_share *wanted,
                    struct leat_consumer *consumer) {
    struct leat_share *share = find_share(feeds, wanted);

    if (!share)
        return -ENOMEM;
    consumer->share = share_ref(share);
    LEAT_LIST_ADD(&share->consumers, consumer);
    leat_broadcast_join(&share->broadcast, &consumer->reader);
    return 0;
}

void leat_share_leave(struct leat_consumer *consumer) {
    if (!consumer->link)
        return;
    LEAT_LIST_REMOVE(consumer);
    consumer->link = NULL;
    leat_broadcast_leave(&consumer->reader);
    leat_share_act(consumer->share);
}

void leat_share_mark(struct leat_consumer *consumer) {
    if (consumer->is_dirty || !consumer->share)
        return;
    consumer->is_dirty = true;
    consumer->next_dirty = consumer->share->feeds->dirty_consumers;
    consumer->share->feeds->dirty_consumers = consumer;
}

void leat_share_forget(struct leat_consumer *consumer) {
    struct leat_consumer **link;

    if (consumer->is_dirty) {
        link = &consumer->share->feeds->dirty_consumers;
        while (*link != consumer)
            link = &(*link)->next_dirty;
        *link = consumer->next_dirty;
    }
    if (consumer->share)
        share_unref(consumer->share);
}

/* ---- for its feeds ---- */

/* Actions wait until all consumers were told: with the last that leaves, the feed would go too. */
static void feed_start(struct leat_feed *feed, const struct leat_error *err) {
    struct leat_broadcast_reader *reader = feed->broadcast_run.readers, *next;
    struct leat_share *share = share_ref(feed->share);

    assert(!share->is_acting);
    share->is_acting = true;
    for (; reader; reader = next) {
        struct leat_consumer *consumer = leat_consumer_of(reader);

        next = reader->next_reader;
        consumer->ops->start(consumer, err);
    }
    if (err) {
        leat_daemon_stream_fail(feed->stream, err, true, feed->feeds->n_made);
        leat_broadcast_abort(&feed->broadcast_run);
    }
    share->is_acting = false;
    leat_share_act(share);
    share_unref(share);
}

static void feed_act(struct leat_feed *feed) {
    leat_share_act(feed->share);
}

/* Warns all trainers of the share, whether they read this run or another one. */
static void feed_notify(struct leat_feed *feed, const struct leat_error *notice) {
    struct leat_consumer *consumer = feed->share->consumers, *next;

    if (feed->share->options.on_change != LEAT_ON_CHANGE_WARN)
        return;
    for (; consumer; consumer = next) {
        next = consumer->next;
        consumer->ops->notify(consumer, notice);
    }
}

static const struct leat_feed_ops feed_ops = {
    .start = feed_start, .act = feed_act, .notify = feed_notify, .end = share_unref};

/* ---- actions of the broadcast ---- */

/* The consumer waits for room, unless there is no run that could make any. */
static void not_started(struct leat_share *share, struct leat_broadcast_reader *reader,
                        const struct leat_error *err) {
    struct leat_consumer *consumer = leat_consumer_of(reader);

    if (share->feeds->n_feeds > 0 && consumer->ops->may_wait(consumer, err)) {
        leat_broadcast_not_started(reader);
        return;
    }
    leat_daemon_stream_fail(share->stream, err, true, share->feeds->n_made);
    consumer->ops->fail(consumer, err);
}

/* The number of batches that the trainers of a run may hold: those of all local ranks, which will
 * come, if there is memory for that. */
static uint32_t window_of(const struct leat_share *share, const struct leat_run_options *options,
                          const struct leat_broadcast_action *action) {
    uint32_t window = action->reader->window;
    uint64_t all = action->n_ranks * window + LEAT_BROADCAST_AHEAD;

    return action->n_ranks > 1 && all < LEAT_RING_MAX_SLOTS &&
                   leat_admission_fits(&share->user->memory, share->plan, options, (uint32_t)all)
               ? (uint32_t)all
               : window;
}

struct leat_run_options leat_share_options_for(const struct leat_consumer *consumer) {
    struct leat_run_options options = consumer->share->options;

    options.first_rank = consumer->reader.first_rank;
    options.n_ranks = consumer->reader.n_ranks;
    return options;
}

static int make_feed(struct leat_share *share, const struct leat_broadcast_action *action,
                     struct leat_feed **ret_feed, struct leat_error *err) {
    struct leat_feed_order order = {
        .ops = &feed_ops,
        .plan = share->plan,
        .user = share->user,
        .stream = share->stream,
        .kept = &share->kept,
        .options = share->options,
    };
    int r;

    order.options.first_epoch = action->place.epoch;
    order.options.first_step = action->place.step;
    order.options.first_rank = action->first_rank;
    order.options.n_ranks = action->n_ranks;
    order.options.round_phase = action->phase;
    order.options.n_epochs = action->n_epochs;
    order.options.n_steps = action->n_batches == LEAT_BROADCAST_NO_LIMIT ? 0 : action->n_batches;
    r = leat_admission_open(share->feeds, share->user, share->plan, &order.options,
                            window_of(share, &order.options, action), &order.admission, err);
    if (r < 0) {
        leat_error_prefix(err, "streams.%s", share->plan->spec->name);
        return r;
    }
    order.take_share = share_ref(share);
    return leat_feed_new(share->feeds, &order, ret_feed, err);
}

static void start_run(struct leat_share *share, const struct leat_broadcast_action *action) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_feed *feed;

    if (make_feed(share, action, &feed, &err) == 0)
        leat_broadcast_started(action->reader, &feed->broadcast_run, action->first_rank,
                               action->n_ranks);
    else
        not_started(share, action->reader, &err);
}

static void take_action(struct leat_share *share, const struct leat_broadcast_action *action) {
    switch (action->kind) {
    case LEAT_BROADCAST_FREE:
        leat_feed_free_item((struct leat_feed_item *)action->item);
        break;
    case LEAT_BROADCAST_WAKE:
        leat_share_mark(leat_consumer_of(action->reader));
        break;
    case LEAT_BROADCAST_START:
        start_run(share, action);
        break;
    case LEAT_BROADCAST_EXTEND:
        leat_feed_extend(leat_feed_of(action->run));
        break;
    case LEAT_BROADCAST_CLOSE:
        leat_feed_close(leat_feed_of(action->run));
        break;
    }
}

/* Actions that follow from actions are done here too. */
void leat_share_act(struct leat_share *share) {
    struct leat_broadcast_action action;

    if (share->is_acting)
        return;
    share->is_acting = true;
    (void)share_ref(share);
    while (leat_broadcast_next_action(&share->broadcast, &action))
        take_action(share, &action);
    share->is_acting = false;
    share_unref(share);
}
