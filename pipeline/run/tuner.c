/* tuner.c: see tuner.h.
 *
 * The rate is bytes of batches a second. A tried setting runs by turns with the kept one, so that
 * other changes affect both. It is kept if its median is higher by more than the spread of the
 * samples explains. At the end, all kept changes together are compared with the start in the same
 * way.
 */
#include "pipeline/run/tuner.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEARN_SAMPLES 3
#define IDLE_SAMPLES  5
#define NOISE_MOST    0.20 /* Beyond it a failed trial is unclear. */
#define GAIN_MIN      0.03
#define NOISE_FACTOR  1.5  /* so that none of many trials succeeds by chance */
#define LOSS_AT_ONCE  0.10 /* ends a trial after its first turn */
#define OFF_PART      0.20
#define OFF_SAMPLES   20
#define GOOD_MAX      12 /* moves that are kept before it settles */
#define PATIENCE_NS   UINT64_C(5000000000)
#define PATIENCE_MAX  UINT64_C(1280000000000)
#define USABLE_PART   4                    /* A sample lasts at least this part of an interval. */
#define QUIET_NS      UINT64_C(5000000000) /* A short run is not worth its trials. */

static const struct {
    enum leat_knob knob;
    bool is_down;
} moves[] = {
    {LEAT_KNOB_BLOCK_BYTES, false}, {LEAT_KNOB_BLOCK_BYTES, true}, {LEAT_KNOB_COLLATED, true},
    {LEAT_KNOB_COLLATED, false},    {LEAT_KNOB_JOBS, true},        {LEAT_KNOB_JOBS, false},
    {LEAT_KNOB_AHEAD, true},        {LEAT_KNOB_AHEAD, false},
};

#define N_MOVES (sizeof(moves) / sizeof(moves[0]))

/* ---- rates ---- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median, and the spread of the middle half as a part of it. */
static double median(const struct leat_tuner_rates *rates, double *ret_spread) {
    double of[LEAT_TUNER_COUNTED], middle;
    unsigned n = rates->n;

    memcpy(of, rates->of, n * sizeof(*of));
    qsort(of, n, sizeof(*of), by_value);
    middle = (of[(n - 1) / 2] + of[n / 2]) / 2;
    *ret_spread = middle > 0 ? (of[n - 1 - n / 4] - of[n / 4]) / middle : 0;
    return middle;
}

static void add_rate(struct leat_tuner_rates *rates, double rate) {
    if (rates->n < LEAT_TUNER_COUNTED)
        rates->of[rates->n++] = rate;
}

/* ---- decisions ---- */

static void __attribute__((format(printf, 2, 3)))
decide(struct leat_tuner *tuner, const char *format, ...) {
    struct leat_tuner_decision *decision =
        &tuner->history[tuner->n_decisions++ % LEAT_TUNER_HISTORY];
    va_list ap;

    decision->at_ns = tuner->now_ns;
    decision->knobs = tuner->kept;
    va_start(ap, format);
    (void)vsnprintf(decision->reason, sizeof(decision->reason), format, ap);
    va_end(ap);
}

const struct leat_tuner_decision *leat_tuner_history(const struct leat_tuner *tuner, size_t i) {
    uint64_t n = tuner->n_decisions, n_there = n < LEAT_TUNER_HISTORY ? n : LEAT_TUNER_HISTORY;

    return i < n_there ? &tuner->history[(n - n_there + i) % LEAT_TUNER_HISTORY] : NULL;
}

/* ---- phases ---- */

/* The one setter of the phase. */
static void set_phase(struct leat_tuner *tuner, enum leat_tuner_phase phase) {
    tuner->phase = phase;
    tuner->current = tuner->kept;
    tuner->trial.kept.n = tuner->trial.tried.n = 0;
    tuner->n_idle = 0;
    if (phase == LEAT_TUNER_LEARNING) {
        tuner->is_unclear = tuner->is_proven = false;
        tuner->sum = (struct leat_tuner_sample){.wall_ns = 0};
        tuner->n_samples = 0;
    }
    if (phase == LEAT_TUNER_SETTLED) {
        tuner->settled_ns = tuner->now_ns;
        tuner->n_off = 0;
        tuner->seen.n = 0;
        tuner->rate = 0;
    }
}

static void settle(struct leat_tuner *tuner) {
    set_phase(tuner, LEAT_TUNER_SETTLED);
    tuner->next_move = tuner->n_failed = tuner->n_good = 0;
    tuner->last_good = -1;
    decide(tuner, "done: no other setting was faster");
}

static void start_trial(struct leat_tuner *tuner, const struct leat_knobs *knobs) {
    set_phase(tuner, LEAT_TUNER_TRYING);
    tuner->trial.knobs = *knobs;
    tuner->trial.is_fresh = false; /* it begins with what is in force already */
    tuner->trial.n_old_blocks = 0;
    tuner->trial.is_proof = false;
}

/* ---- moves ---- */

/* True if the move takes back the last one that was kept. */
static bool is_undoing(const struct leat_tuner *tuner, size_t move) {
    return tuner->last_good >= 0 && moves[tuner->last_good].knob == moves[move].knob &&
           moves[tuner->last_good].is_down != moves[move].is_down;
}

/* The next move that may help; false: none is left. */
static bool next_move(struct leat_tuner *tuner, struct leat_knobs *ret_knobs) {
    for (; tuner->n_failed < N_MOVES; tuner->n_failed++) {
        size_t move = tuner->next_move % N_MOVES;

        *ret_knobs = tuner->kept;
        if (!is_undoing(tuner, move) &&
            leat_tuner_turn(&tuner->limits, &tuner->sum, moves[move].knob, moves[move].is_down,
                            ret_knobs))
            return true;
        tuner->next_move++;
    }
    return false;
}

static void prove(struct leat_tuner *tuner) {
    start_trial(tuner, &tuner->limits.start);
    tuner->trial.is_proof = true;
    tuner->trial.why[0] = '\0';
}

static void try_next(struct leat_tuner *tuner) {
    struct leat_knobs knobs;

    tuner->trial.why[0] = '\0';
    if (!tuner->is_proven && tuner->n_good < GOOD_MAX && next_move(tuner, &knobs)) {
        start_trial(tuner, &knobs);
    } else if (!tuner->is_proven && !leat_knobs_equal(&tuner->kept, &tuner->limits.start)) {
        prove(tuner);
    } else {
        settle(tuner);
    }
}

/* ---- TRYING ---- */

static void name_move(const struct leat_tuner *tuner, char *text, size_t size) {
    const struct leat_knobs *from = &tuner->kept, *to = &tuner->trial.knobs;
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < LEAT_N_KNOBS && n < size; i++)
        if (from->of[i] != to->of[i])
            n += (size_t)snprintf(text + n, size - n, "%s%s %" PRIu64 " -> %" PRIu64, n ? ", " : "",
                                  leat_knob_name((enum leat_knob)i), from->of[i], to->of[i]);
}

/* The gain of the tried setting, and the part of it that may be chance. Twice as many samples halve
 * the square of the noise. */
static double gain_of(const struct leat_tuner_trial *trial, double *ret_noise) {
    double spread[2], kept = median(&trial->kept, &spread[0]);
    double tried = median(&trial->tried, &spread[1]);

    *ret_noise = spread[0] > spread[1] ? spread[0] : spread[1];
    if (trial->tried.n == LEAT_TUNER_COUNTED)
        *ret_noise *= 0.7;
    return kept > 0 ? tried / kept - 1 : 0;
}

static bool is_good(const struct leat_tuner_trial *trial, double gain, double noise) {
    if (trial->is_proof)
        return gain > -GAIN_MIN;
    if (trial->why[0] != '\0') /* proposed by the model */
        return gain >= 0;
    return gain > (noise * NOISE_FACTOR > GAIN_MIN ? noise * NOISE_FACTOR : GAIN_MIN);
}

/* Updates the counts of moves. */
static void count_trial(struct leat_tuner *tuner, bool is_kept) {
    const struct leat_tuner_trial *trial = &tuner->trial;

    tuner->n_good += is_kept;
    if (trial->is_proof) {
        tuner->n_failed = is_kept ? 0 : tuner->n_failed; /* Moves failed from other knobs. */
        tuner->is_proven = !tuner->owes_proof;
        tuner->owes_proof = false;
    } else if (trial->why[0] != '\0') {
        tuner->n_failed = 0;
    } else if (is_kept) {
        tuner->last_good = (int)(tuner->next_move % N_MOVES);
        tuner->n_failed = 0;
    } else {
        tuner->next_move++;
        tuner->n_failed++;
    }
}

static void end_trial(struct leat_tuner *tuner) {
    struct leat_tuner_trial *trial = &tuner->trial;
    double noise, gain = gain_of(trial, &noise);
    bool is_kept = is_good(trial, gain, noise);
    char what[96];

    name_move(tuner, what, sizeof(what));
    tuner->is_unclear |= noise > NOISE_MOST && !is_kept && gain > -noise;
    if (is_kept)
        tuner->kept = trial->knobs;
    decide(tuner, "%s %s: %+.0f %%, noise %.0f %%%s%s%s", is_kept ? "kept" : "undid", what,
           gain * 100, noise * 100, trial->why[0] ? "; " : "", trial->why,
           trial->is_proof ? "; the tuner began with this setting" : "");
    count_trial(tuner, is_kept);
    try_next(tuner);
}

/* After a leg of the tried setting: it is much slower, the result is clear, or there is no more
 * room. */
static bool is_over(const struct leat_tuner_trial *trial) {
    double noise, gain = gain_of(trial, &noise);

    if (trial->tried.n == LEAT_TUNER_LEG)
        return gain < -LOSS_AT_ONCE;
    if (trial->tried.n == LEAT_TUNER_COUNTED / 2)
        return gain < GAIN_MIN || gain > noise * NOISE_FACTOR;
    return trial->tried.n == LEAT_TUNER_COUNTED;
}

static bool is_old(struct leat_tuner_trial *trial, const struct leat_tuner_sample *sample) {
    uint64_t n = sample->n_blocks;
    bool is_old = trial->is_fresh || trial->n_old_blocks > 0;

    trial->is_fresh = false;
    trial->n_old_blocks -= n < trial->n_old_blocks ? n : trial->n_old_blocks;
    return is_old;
}

/* The settings run by turns, a leg each. */
static void take_trying(struct leat_tuner *tuner, const struct leat_tuner_sample *sample,
                        double rate) {
    struct leat_tuner_trial *trial = &tuner->trial;
    bool is_tried = leat_knobs_equal(&tuner->current, &trial->knobs);
    struct leat_tuner_rates *rates = is_tried ? &trial->tried : &trial->kept;

    if (is_old(trial, sample))
        return;
    add_rate(rates, rate);
    if (rates->n % LEAT_TUNER_LEG != 0)
        return;
    if (is_tried && is_over(trial)) {
        end_trial(tuner);
        return;
    }
    tuner->current = is_tried ? tuner->kept : trial->knobs;
    trial->is_fresh = true;
    trial->n_old_blocks = tuner->kept.of[LEAT_KNOB_JOBS];
}

/* ---- LEARNING ---- */

static void add_sample(struct leat_tuner_sample *sum, const struct leat_tuner_sample *sample) {
    sum->wall_ns += sample->wall_ns;
    sum->n_batches += sample->n_batches;
    sum->n_batch_bytes += sample->n_batch_bytes;
    sum->n_blocks += sample->n_blocks;
    sum->n_maps += sample->n_maps;
    sum->map_ns += sample->map_ns;
    sum->n_mapped_bytes += sample->n_mapped_bytes;
    sum->n_collations += sample->n_collations;
    sum->collate_ns += sample->collate_ns;
    sum->scan_ns += sample->scan_ns;
    sum->busy_ns += sample->busy_ns;
    sum->starved_ns += sample->starved_ns;
    sum->slotless_ns += sample->slotless_ns;
    sum->used_bytes = sample->used_bytes;
    sum->room_bytes = sample->room_bytes;
}

static void take_learning(struct leat_tuner *tuner, const struct leat_tuner_sample *sample) {
    struct leat_knobs knobs = tuner->kept;

    if (tuner->now_ns < tuner->quiet_ns)
        return;
    add_sample(&tuner->sum, sample);
    if (++tuner->n_samples < LEARN_SAMPLES)
        return;
    if (tuner->owes_proof)
        prove(tuner);
    else if (leat_tuner_reckon(&tuner->limits, &tuner->sum, &knobs, tuner->trial.why,
                               sizeof(tuner->trial.why)))
        start_trial(tuner, &knobs);
    else
        try_next(tuner);
}

/* ---- SETTLED ---- */

static void begin_again(struct leat_tuner *tuner, double rate) {
    double change = rate / tuner->rate - 1;

    tuner->patience_ns *= tuner->patience_ns < PATIENCE_MAX ? 2 : 1;
    set_phase(tuner, LEAT_TUNER_LEARNING);
    decide(tuner, "the rate changed by %+.0f %%: the tuner starts again", change * 100);
}

static void take_settled(struct leat_tuner *tuner, double rate) {
    double spread;
    int side;

    if (tuner->rate <= 0) {
        add_rate(&tuner->seen, rate);
        if (tuner->seen.n == LEAT_TUNER_COUNTED)
            tuner->rate = median(&tuner->seen, &spread);
        return;
    }
    side = (rate > tuner->rate * (1 + OFF_PART)) - (rate < tuner->rate * (1 - OFF_PART));
    tuner->n_off = side == 0 || side * tuner->n_off < 0 ? side : tuner->n_off + side;
    if (abs(tuner->n_off) >= OFF_SAMPLES && tuner->now_ns - tuner->settled_ns >= tuner->patience_ns)
        begin_again(tuner, rate);
}

/* ---- samples ---- */

/* Gives back what the knobs take beyond the start when others need memory. */
static bool give_way(struct leat_tuner *tuner, const struct leat_tuner_sample *sample) {
    struct leat_knobs before = tuner->kept;

    if (sample->room_bytes > 0)
        return false;
    for (int i = 0; i < LEAT_N_KNOBS; i++)
        if (i != LEAT_KNOB_COLLATED && tuner->kept.of[i] > tuner->limits.start.of[i])
            tuner->kept.of[i] = tuner->limits.start.of[i];
    if (leat_knobs_equal(&before, &tuner->kept))
        return false;
    set_phase(tuner, LEAT_TUNER_SETTLED);
    decide(tuner, "memory is short: the tuner returns to its first settings");
    return true;
}

/* True if batches were made, and the trainer waited for them. */
static bool is_telling(struct leat_tuner *tuner, const struct leat_tuner_sample *sample) {
    if (sample->wall_ns < LEAT_TUNER_INTERVAL_NS / USABLE_PART || sample->n_batches == 0)
        return false;
    if (leat_tuner_is_waited_for(sample)) {
        tuner->n_idle = 0;
        return true;
    }
    if (++tuner->n_idle == IDLE_SAMPLES && tuner->phase == LEAT_TUNER_TRYING)
        set_phase(tuner, LEAT_TUNER_LEARNING);
    return false;
}

bool leat_tuner_take(struct leat_tuner *tuner, const struct leat_tuner_sample *sample) {
    struct leat_knobs before = tuner->current;
    double rate;

    tuner->now_ns += sample->wall_ns;
    if (!give_way(tuner, sample) && is_telling(tuner, sample)) {
        rate = (double)sample->n_batch_bytes * 1e9 / (double)sample->wall_ns;
        if (tuner->phase == LEAT_TUNER_LEARNING)
            take_learning(tuner, sample);
        else if (tuner->phase == LEAT_TUNER_TRYING)
            take_trying(tuner, sample, rate);
        else
            take_settled(tuner, rate);
    }
    return !leat_knobs_equal(&before, &tuner->current);
}

/* ---- life ---- */

const char *leat_tuner_phase_name(enum leat_tuner_phase phase) {
    static const char *const names[] = {"learning", "trying", "settled"};

    return names[phase];
}

static struct leat_knobs within(const struct leat_tuner_limits *limits,
                                const struct leat_knobs *knobs) {
    struct leat_knobs result = *knobs;

    for (int i = 0; i < LEAT_N_KNOBS; i++) {
        if (limits->is_pinned[i])
            result.of[i] = limits->start.of[i];
        if (result.of[i] > limits->most.of[i])
            result.of[i] = limits->most.of[i];
    }
    leat_knobs_clamp(&result);
    return result;
}

void leat_tuner_init(struct leat_tuner *tuner, const struct leat_tuner_limits *limits,
                     const struct leat_tuner_memory *memory) {
    *tuner = (struct leat_tuner){
        .limits = *limits, .last_good = -1, .patience_ns = PATIENCE_NS, .kept = limits->start};
    if (memory) {
        tuner->kept = within(limits, &memory->knobs);
        tuner->next_move = memory->next_move % N_MOVES;
        tuner->n_failed = memory->n_failed < N_MOVES ? memory->n_failed : 0;
        tuner->quiet_ns = QUIET_NS;
        tuner->owes_proof = !memory->is_settled && !leat_knobs_equal(&tuner->kept, &limits->start);
    }
    set_phase(tuner, memory && memory->is_settled ? LEAT_TUNER_SETTLED : LEAT_TUNER_LEARNING);
    decide(tuner,
           memory
               ? "the tuner continues with the settings of this stream's last run on this machine"
               : "the tuner begins with the defaults and your own settings");
}

void leat_tuner_recall(const struct leat_tuner *tuner, struct leat_tuner_memory *ret_memory) {
    *ret_memory = (struct leat_tuner_memory){
        .knobs = tuner->kept,
        .is_settled = tuner->phase == LEAT_TUNER_SETTLED && !tuner->is_unclear,
        .next_move = tuner->next_move % N_MOVES,
        .n_failed = tuner->n_failed,
    };
}
