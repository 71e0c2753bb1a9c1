#include "daemon/control/tuner.h"

#include <errno.h>

#include "daemon/control/describe.h"
#include "daemon/stream/feed.h"
#include "daemon/trainer/sessions.h"

#define TUNERS_MAX 4 /* of a stream */

static int add_knobs(const struct leat_knobs *kept, const struct leat_knobs *current,
                     const bool is_pinned[LEAT_N_KNOBS], Leat__TunerStats *message,
                     struct leat_arena *arena) {
    message->knobs = leat_control_messages(arena, &leat__knob_stats__descriptor, LEAT_N_KNOBS);
    if (!message->knobs)
        return -ENOMEM;
    for (int i = 0; i < LEAT_N_KNOBS; i++) {
        Leat__KnobStats *knob = message->knobs[message->n_knobs++];

        knob->name = (char *)(uintptr_t)leat_knob_name((enum leat_knob)i);
        knob->value = kept->of[i];
        knob->current = current->of[i];
        knob->is_pinned = is_pinned[i];
    }
    return 0;
}

static int add_decisions(const struct leat_tuner *tuner, size_t n_most, Leat__TunerStats *message,
                         struct leat_arena *arena) {
    size_t n = 0;

    while (leat_tuner_history(tuner, n))
        n++;
    message->decisions = leat_control_messages(arena, &leat__tuner_decision__descriptor, n);
    if (!message->decisions)
        return -ENOMEM;
    for (size_t i = n > n_most ? n - n_most : 0; i < n; i++) {
        const struct leat_tuner_decision *from = leat_tuner_history(tuner, i);
        Leat__TunerDecision *decision = message->decisions[message->n_decisions++];

        decision->at_ns = from->at_ns;
        decision->reason = (char *)(uintptr_t)from->reason;
    }
    return 0;
}

static int add_tuner(const struct leat_tuner *tuner, bool has_ended, size_t n_decisions,
                     Leat__StreamStats *message, struct leat_arena *arena) {
    Leat__TunerStats *stats = message->tuners[message->n_tuners++];

    stats->phase = (char *)(uintptr_t)leat_tuner_phase_name(tuner->phase);
    stats->has_ended = has_ended;
    if (add_knobs(&tuner->kept, &tuner->current, tuner->limits.is_pinned, stats, arena) < 0)
        return -ENOMEM;
    return add_decisions(tuner, n_decisions, stats, arena);
}

/* The values of a run without a tuner. */
static int add_untuned(const struct leat_feed *feed, Leat__StreamStats *message,
                       struct leat_arena *arena) {
    Leat__TunerStats *stats = message->tuners[message->n_tuners++];
    bool is_pinned[LEAT_N_KNOBS];
    struct leat_knobs knobs;

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

    message->tuners = leat_control_messages(arena, &leat__tuner_stats__descriptor, TUNERS_MAX);
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
