#include "daemon/control/tuner.h"

#include <errno.h>

#include "daemon/stream/feed.h"
#include "daemon/trainer/sessions.h"

#define TUNERS_MAX 4 /* of a stream */

static int add_knobs(const struct leat_knobs *kept, const struct leat_knobs *current,
                     const bool is_pinned[LEAT_N_KNOBS], Leat__TunerStats *message,
                     struct leat_arena *arena) {
    message->knobs = leat_arena_alloc(arena, LEAT_N_KNOBS * sizeof(*message->knobs));
    if (!message->knobs)
        return -ENOMEM;
    for (int i = 0; i < LEAT_N_KNOBS; i++) {
        Leat__KnobStats *knob = leat_arena_alloc(arena, sizeof(*knob));

        if (!knob)
            return -ENOMEM;
        leat__knob_stats__init(knob);
        knob->name = (char *)(uintptr_t)leat_knob_name((enum leat_knob)i);
        knob->value = kept->of[i];
        knob->current = current->of[i];
        knob->is_pinned = is_pinned[i];
        message->knobs[message->n_knobs++] = knob;
    }
    return 0;
}

static int add_decisions(const struct leat_tuner *tuner, size_t n_most, Leat__TunerStats *message,
                         struct leat_arena *arena) {
    size_t n = 0;

    while (leat_tuner_history(tuner, n))
        n++;
    message->decisions = leat_arena_alloc(arena, n * sizeof(*message->decisions));
    if (!message->decisions)
        return -ENOMEM;
    for (size_t i = n > n_most ? n - n_most : 0; i < n; i++) {
        const struct leat_tuner_decision *from = leat_tuner_history(tuner, i);
        Leat__TunerDecision *decision = leat_arena_alloc(arena, sizeof(*decision));

        if (!decision)
            return -ENOMEM;
        leat__tuner_decision__init(decision);
        decision->at_ns = from->at_ns;
        decision->reason = (char *)(uintptr_t)from->reason;
        message->decisions[message->n_decisions++] = decision;
    }
    return 0;
}

static Leat__TunerStats *add_message(Leat__StreamStats *message, struct leat_arena *arena) {
    Leat__TunerStats *stats = leat_arena_alloc(arena, sizeof(*stats));

    if (!stats)
        return NULL;
    leat__tuner_stats__init(stats);
    message->tuners[message->n_tuners++] = stats;
    return stats;
}

static int add_tuner(const struct leat_tuner *tuner, bool has_ended, size_t n_decisions,
                     Leat__StreamStats *message, struct leat_arena *arena) {
    Leat__TunerStats *stats = add_message(message, arena);

    if (!stats)
        return -ENOMEM;
    stats->phase = (char *)(uintptr_t)leat_tuner_phase_name(tuner->phase);
    stats->has_ended = has_ended;
    if (add_knobs(&tuner->kept, &tuner->current, tuner->limits.is_pinned, stats, arena) < 0)
        return -ENOMEM;
    return add_decisions(tuner, n_decisions, stats, arena);
}

/* The values of a run without a tuner. */
static int add_untuned(const struct leat_feed *feed, Leat__StreamStats *message,
                       struct leat_arena *arena) {
    Leat__TunerStats *stats = add_message(message, arena);
    bool is_pinned[LEAT_N_KNOBS];
    struct leat_knobs knobs;

    if (!stats)
        return -ENOMEM;
    stats->phase = (char *)(uintptr_t) "off";
    leat_run_get_knobs(feed->run, &knobs);
    leat_feed_tuner_pins(feed->plan, is_pinned);
    if (!is_pinned[LEAT_KNOB_AHEAD])
        knobs.of[LEAT_KNOB_AHEAD] = feed->n_slots;
    return add_knobs(&knobs, &knobs, is_pinned, stats, arena);
}

int leat_control_describe_tuners(const struct leat_sessions *sessions,
                                 const struct leat_daemon_stream *stream, size_t n_decisions,
                                 Leat__StreamStats *message, struct leat_arena *arena) {
    int r = 0;

    message->tuners = leat_arena_alloc(arena, TUNERS_MAX * sizeof(*message->tuners));
    if (!message->tuners)
        return -ENOMEM;
    for (const struct leat_feed *feed = sessions->feeds->first; feed && r == 0; feed = feed->next) {
        if (feed->stream != stream || !feed->run || message->n_tuners == TUNERS_MAX)
            continue;
        r = feed->tuner.is_on ? add_tuner(&feed->tuner.tuner, false, n_decisions, message, arena)
                              : add_untuned(feed, message, arena);
    }
    if (r == 0 && message->n_tuners == 0 && stream->has_tuner)
        r = add_tuner(&stream->tuner, true, n_decisions, message, arena);
    return r;
}
