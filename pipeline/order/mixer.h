/* mixer.h: from which source the next record comes (`mix`). One thread: the run's.
 *
 * By weights, each record's source is drawn: u = leat_rng_unit() times the sum of the shares of
 * those that are there, in the order of the list; it is the first at which the running sum of
 * shares exceeds u. The stream of draws is keyed (stream seed, seed, epoch, LEAT_RNG_MIX, pass). By
 * proportions it is the source that is farthest behind: the one with the largest share * (n + 1) -
 * its own number of records, of the n that there are since it was last known which sources are
 * there; the first of several. Shares are those of the sources that are there, with sum 1.
 *
 * A record is one that went through the per-record stages. Whether a source has another is known
 * when one is wanted of it. If not:
 *
 *     stop    the pass ends
 *     repeat  the source begins again, unless all sources have now come to their end: then the pass
 *             ends
 *     drop    the source is not there any more; if none is, the pass ends
 *
 * A source that begins again and has no record at all is dropped.
 */
#pragma once

#include "pipeline/stage/stage.h"

struct leat_mixer {
    const struct leat_mixing *mixing;
    struct leat_rng rng;
    double shares[LEAT_LANES_MAX]; /* of those that are there */
    bool is_there[LEAT_LANES_MAX];
    bool has_ended[LEAT_LANES_MAX];          /* once, in this pass */
    uint64_t n_rows[LEAT_LANES_MAX];         /* of its lap */
    uint64_t n_taken[LEAT_LANES_MAX], n_all; /* since it was last known which sources are there */
    size_t next;                             /* whose record is next; n_lanes: not known yet */
};

enum leat_mixer_verdict {
    LEAT_MIXER_GOES_ON, /* ask for the next */
    LEAT_MIXER_REPEATS, /* the source begins again */
    LEAT_MIXER_PASS_ENDS,
};

void leat_mixer_start(struct leat_mixer *mixer, const struct leat_mixing *mixing, uint64_t seed,
                      uint64_t epoch, uint64_t pass);
/* The source of the next record. It stays the same until the record was taken, or the source has
 * come to its end. */
size_t leat_mixer_next(struct leat_mixer *mixer);
/* Counts that the record was taken. */
void leat_mixer_take(struct leat_mixer *mixer);
/* Says that the source had no further record. */
enum leat_mixer_verdict leat_mixer_end(struct leat_mixer *mixer);
