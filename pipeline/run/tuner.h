/* tuner.h: turns the knobs of a run from what is measured while it goes on. A pure state machine:
 * no clock, no I/O.
 *
 * It is given one interval after the other, and says with which knobs to go on and why. First it
 * looks (LEARNING) and reckons from the times of jobs where the knobs should be; then it tries, one
 * knob at a time, by turns with what it has (TRYING), and keeps what is faster by more than the
 * noise; when nothing is, it is SETTLED and silent, until the rate has been another by a fifth for
 * a while. The longer it lives, the rarer it begins again. A run that goes on from what an earlier
 * one kept tries nothing in its first seconds. While the trainer is the slower one, or nothing
 * flows, there is nothing to learn.
 *
 * A value that is pinned is never turned; memory is only asked for where there is room. Owner:
 * whoever drives the run; one thread.
 */
#pragma once

#include "pipeline/run/tuner_model.h"

enum leat_tuner_phase {
    LEAT_TUNER_LEARNING,
    LEAT_TUNER_TRYING,
    LEAT_TUNER_SETTLED,
};

#define LEAT_TUNER_HISTORY     16        /* decisions that are remembered */
#define LEAT_TUNER_INTERVAL_NS 100000000 /* of a sample, about */

struct leat_tuner_decision {
    uint64_t at_ns; /* of the time that it was given */
    struct leat_knobs knobs;
    char reason[LEAT_TUNER_REASON_MAX];
};

/* What is kept from run to run. */
struct leat_tuner_memory {
    struct leat_knobs knobs;
    bool is_settled;    /* all was tried, and told enough; else: */
    uint32_t next_move; /* what comes next, */
    uint32_t n_failed;  /* and how many did no good in a row */
};

#define LEAT_TUNER_LEG     3 /* samples that count, of one setting, before the other has its turn */
#define LEAT_TUNER_LEGS    4 /* of each setting at most: half of them, if that tells enough */
#define LEAT_TUNER_COUNTED (LEAT_TUNER_LEG * LEAT_TUNER_LEGS)

/* Rates of one setting. */
struct leat_tuner_rates {
    unsigned n;
    double of[LEAT_TUNER_COUNTED];
};

struct leat_tuner_trial {
    struct leat_knobs knobs;
    char why[LEAT_TUNER_REASON_MAX]; /* the model's; "": a move */
    bool is_proof;                   /* it is tried whether where it began is as good */
    bool is_fresh;                   /* another setting came into force: */
    uint64_t n_old_blocks;           /* what was begun before flows out, and does not count */
    struct leat_tuner_rates kept, tried;
};

struct leat_tuner {
    struct leat_tuner_limits limits;
    enum leat_tuner_phase phase;
    struct leat_knobs kept;       /* the best that is known */
    struct leat_knobs current;    /* in force: that, or the one being tried */
    uint64_t now_ns;              /* sum of the samples */
    uint64_t quiet_ns;            /* until then nothing is tried: a run before left something */
    struct leat_tuner_sample sum; /* while LEARNING */
    unsigned n_samples;
    struct leat_tuner_trial trial;
    unsigned next_move, n_failed; /* moves in turn, and those in a row that did no good */
    int last_good;                /* move; -1: none */
    unsigned n_good;              /* since it began to try */
    bool is_unclear;              /* noise hid what some of the moves did */
    bool is_proven;               /* what is kept was compared with where it began */
    bool owes_proof;              /* a run before kept it, and ended before that */
    unsigned n_idle;              /* samples in a row in which the trainer was the slower one */
    struct leat_tuner_rates seen; /* while SETTLED: the first ones, */
    double rate;                  /* and what they were; 0: not known yet */
    int n_off;                    /* samples in a row that are above (or, negative, below) it */
    uint64_t settled_ns;          /* when */
    uint64_t patience_ns;         /* for so long at least */
    uint64_t n_decisions;         /* in all; the last LEAT_TUNER_HISTORY are there */
    struct leat_tuner_decision history[LEAT_TUNER_HISTORY];
};

/* memory: from a run before; NULL: none. */
void leat_tuner_init(struct leat_tuner *tuner, const struct leat_tuner_limits *limits,
                     const struct leat_tuner_memory *memory);
/* True: tuner->current is another than before; the latest decision says why. */
bool leat_tuner_take(struct leat_tuner *tuner, const struct leat_tuner_sample *sample);
/* What should be kept for the next run. */
void leat_tuner_recall(const struct leat_tuner *tuner, struct leat_tuner_memory *ret_memory);

const char *leat_tuner_phase_name(enum leat_tuner_phase phase);
/* The i-th of those that are there, the oldest first; NULL: there are no more. */
const struct leat_tuner_decision *leat_tuner_history(const struct leat_tuner *tuner, size_t i);
