/* tuner.h: sets the knobs of a run by what is measured while it runs. A pure state machine: no
 * clock, no I/O.
 *
 * It takes one sample after the other, and says which knobs to use, and why. First it computes the
 * knobs from the times of jobs (LEARNING). Then it tries one knob at a time, by turns with the
 * knobs that it has (TRYING), and keeps what is faster by more than the noise. When nothing is, it
 * is SETTLED until the rate has differed by a fifth for a while; each time it waits longer before
 * it starts again. A run that continues an earlier one tries nothing in its first seconds. Samples
 * in which the trainer was slower, or no batch was made, teach nothing.
 *
 * A pinned knob never changes. A knob that takes memory grows only where there is room. Owner: the
 * driver of the run; one thread.
 */
#pragma once

#include "pipeline/run/tuner_model.h"

enum leat_tuner_phase {
    LEAT_TUNER_LEARNING,
    LEAT_TUNER_TRYING,
    LEAT_TUNER_SETTLED,
};

#define LEAT_TUNER_HISTORY     16        /* decisions that are kept */
#define LEAT_TUNER_INTERVAL_NS 100000000 /* of a sample, about */

struct leat_tuner_decision {
    uint64_t at_ns; /* of the sum of samples */
    struct leat_knobs knobs;
    char reason[LEAT_TUNER_REASON_MAX];
};

/* The values that are kept from run to run. */
struct leat_tuner_memory {
    struct leat_knobs knobs;
    bool is_settled;    /* All moves were tried, and their results were clear. */
    uint32_t next_move; /* else: the next one */
    uint32_t n_failed;  /* and the number of moves in a row that gave nothing */
};

#define LEAT_TUNER_LEG     3 /* samples of one setting before the other has its turn */
#define LEAT_TUNER_LEGS    4 /* of each setting at most; half of them if the result is clear */
#define LEAT_TUNER_COUNTED (LEAT_TUNER_LEG * LEAT_TUNER_LEGS)

/* Rates of one setting. */
struct leat_tuner_rates {
    unsigned n;
    double of[LEAT_TUNER_COUNTED];
};

struct leat_tuner_trial {
    struct leat_knobs knobs;
    char why[LEAT_TUNER_REASON_MAX]; /* the model's; "": a move */
    bool is_proof;                   /* It tries the knobs of the start again. */
    bool is_fresh;                   /* The setting has just changed. */
    uint64_t n_old_blocks;           /* begun before that; their samples do not count */
    struct leat_tuner_rates kept, tried;
};

struct leat_tuner {
    struct leat_tuner_limits limits;
    enum leat_tuner_phase phase;
    struct leat_knobs kept;       /* the best known */
    struct leat_knobs current;    /* kept, or being tried */
    uint64_t now_ns;              /* sum of the samples */
    uint64_t quiet_ns;            /* Nothing is tried before. */
    struct leat_tuner_sample sum; /* while LEARNING */
    unsigned n_samples;
    struct leat_tuner_trial trial;
    unsigned next_move, n_failed; /* n_failed: moves in a row that gave nothing */
    int last_good;                /* move; -1: none */
    unsigned n_good;              /* moves that were kept since it began to try */
    bool is_unclear;              /* Noise hid the result of some moves. */
    bool is_proven;               /* The kept knobs were compared with those of the start. */
    bool owes_proof;              /* An earlier run kept them, and ended before it did that. */
    unsigned n_idle;              /* samples in a row in which the trainer was slower */
    struct leat_tuner_rates seen; /* SETTLED: the first rates */
    double rate;                  /* SETTLED: the median of these; 0: not known yet */
    int n_off;                    /* samples in a row that are above, or negative: below it */
    uint64_t settled_ns;          /* when it settled */
    uint64_t patience_ns;         /* It stays SETTLED for at least so long. */
    uint64_t n_decisions;         /* in all; the last LEAT_TUNER_HISTORY are kept */
    struct leat_tuner_decision history[LEAT_TUNER_HISTORY];
};

/* memory: of an earlier run; NULL: none. */
void leat_tuner_init(struct leat_tuner *tuner, const struct leat_tuner_limits *limits,
                     const struct leat_tuner_memory *memory);
/* Takes a sample. True: tuner->current has changed; the latest decision says why. */
bool leat_tuner_take(struct leat_tuner *tuner, const struct leat_tuner_sample *sample);
/* The values for the next run. */
void leat_tuner_recall(const struct leat_tuner *tuner, struct leat_tuner_memory *ret_memory);

const char *leat_tuner_phase_name(enum leat_tuner_phase phase);
/* The i-th kept decision, the oldest first; NULL: none. */
const struct leat_tuner_decision *leat_tuner_history(const struct leat_tuner *tuner, size_t i);
