#include "pipeline/order/mixer.h"

/* Shares out among the sources that are left, as if none had been taken from yet. */
static void share_out(struct leat_mixer *mixer) {
    const struct leat_mixing *mixing = mixer->mixing;
    double sum = 0;

    for (size_t i = 0; i < mixing->n_lanes; i++)
        sum += mixer->is_there[i] ? mixing->shares[i] : 0;
    for (size_t i = 0; i < mixing->n_lanes; i++) {
        mixer->shares[i] = mixer->is_there[i] ? mixing->shares[i] / sum : 0;
        mixer->n_taken[i] = 0;
    }
    mixer->n_all = 0;
    mixer->next = mixing->n_lanes;
}

void leat_mixer_start(struct leat_mixer *mixer, const struct leat_mixing *mixing, uint64_t seed,
                      uint64_t epoch, uint64_t pass) {
    *mixer = (struct leat_mixer){.mixing = mixing};
    mixer->rng.state = leat_rng_key(seed, mixing->seed, epoch, LEAT_RNG_MIX, pass);
    for (size_t i = 0; i < mixing->n_lanes; i++)
        mixer->is_there[i] = true;
    share_out(mixer);
}

static size_t draw_lane(struct leat_mixer *mixer) {
    size_t n = mixer->mixing->n_lanes, last = 0;
    double sum = 0, all = 0, u;

    for (size_t i = 0; i < n; i++)
        all += mixer->shares[i];
    u = leat_rng_unit(&mixer->rng) * all;
    for (size_t i = 0; i < n; i++) {
        sum += mixer->shares[i];
        if (mixer->is_there[i] && u < sum)
            return i;
        last = mixer->is_there[i] ? i : last;
    }
    return last;
}

static size_t farthest_behind(const struct leat_mixer *mixer) {
    size_t found = mixer->mixing->n_lanes;
    double most = 0;

    for (size_t i = 0; i < mixer->mixing->n_lanes; i++) {
        double behind = mixer->shares[i] * (double)(mixer->n_all + 1) - (double)mixer->n_taken[i];

        if (mixer->is_there[i] && (found == mixer->mixing->n_lanes || behind > most)) {
            found = i;
            most = behind;
        }
    }
    return found;
}

size_t leat_mixer_next(struct leat_mixer *mixer) {
    if (mixer->next == mixer->mixing->n_lanes)
        mixer->next = mixer->mixing->is_random ? draw_lane(mixer) : farthest_behind(mixer);
    return mixer->next;
}

void leat_mixer_take(struct leat_mixer *mixer) {
    mixer->n_rows[mixer->next]++;
    mixer->n_taken[mixer->next]++;
    mixer->n_all++;
    mixer->next = mixer->mixing->n_lanes;
}

/* True if no source has that flag. */
static bool is_none(const struct leat_mixer *mixer, bool is_wanted, const bool *flags) {
    for (size_t i = 0; i < mixer->mixing->n_lanes; i++)
        if (flags[i] == is_wanted)
            return false;
    return true;
}

static enum leat_mixer_verdict drop_lane(struct leat_mixer *mixer, size_t lane) {
    mixer->is_there[lane] = false;
    if (is_none(mixer, true, mixer->is_there))
        return LEAT_MIXER_PASS_ENDS;
    share_out(mixer);
    return LEAT_MIXER_GOES_ON;
}

enum leat_mixer_verdict leat_mixer_end(struct leat_mixer *mixer) {
    size_t lane = mixer->next;
    bool is_empty = mixer->n_rows[lane] == 0;

    mixer->has_ended[lane] = true;
    mixer->n_rows[lane] = 0;
    if (mixer->mixing->exhausted == LEAT_EXHAUSTED_STOP)
        return LEAT_MIXER_PASS_ENDS;
    if (mixer->mixing->exhausted == LEAT_EXHAUSTED_DROP)
        return drop_lane(mixer, lane);
    if (is_none(mixer, false, mixer->has_ended))
        return LEAT_MIXER_PASS_ENDS;
    return is_empty ? drop_lane(mixer, lane) : LEAT_MIXER_REPEATS;
}
