#include "pipeline/stages/dedup/hash_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PLACES 16

void leat_hash_set_deinit(struct leat_hash_set *set) {
    for (size_t i = 0; i < LEAT_HASH_SET_SEGMENTS; i++)
        free(set->segments[i].places);
    memset(set, 0, sizeof(*set));
}

static bool is_zero(const uint64_t hash[2]) {
    return (hash[0] | hash[1]) == 0;
}

static size_t segment_of(const uint64_t hash[2]) {
    return hash[1] % LEAT_HASH_SET_SEGMENTS;
}

/* Where the hash is or would be. */
static uint64_t *find(const struct leat_hash_segment *segment, const uint64_t hash[2]) {
    size_t mask = segment->n_places - 1, at = hash[0] & mask;

    while (!is_zero(segment->places[at]) &&
           (segment->places[at][0] != hash[0] || segment->places[at][1] != hash[1]))
        at = (at + 1) & mask;
    return segment->places[at];
}

bool leat_hash_set_has(const struct leat_hash_set *set, const uint64_t hash[2]) {
    const struct leat_hash_segment *segment = &set->segments[segment_of(hash)];

    if (is_zero(hash))
        return set->has_zero;
    return segment->n_places > 0 && !is_zero(find(segment, hash));
}

static int grow(struct leat_hash_segment *segment) {
    struct leat_hash_segment larger = {.n_used = segment->n_used};

    larger.n_places = segment->n_places ? segment->n_places * 2 : FIRST_PLACES;
    larger.places = calloc(larger.n_places, sizeof(*larger.places));
    if (!larger.places)
        return -ENOMEM;
    for (size_t i = 0; i < segment->n_places; i++)
        if (!is_zero(segment->places[i]))
            memcpy(find(&larger, segment->places[i]), segment->places[i], sizeof(*larger.places));
    free(segment->places);
    *segment = larger;
    return 0;
}

int leat_hash_set_add(struct leat_hash_set *set, const uint64_t hash[2]) {
    struct leat_hash_segment *segment = &set->segments[segment_of(hash)];

    if (is_zero(hash)) {
        set->has_zero = true;
    } else {
        size_t n_places = segment->n_places;

        if ((segment->n_used + 1) * 4 > n_places * 3 && grow(segment) < 0)
            return -ENOMEM;
        set->n_bytes += (segment->n_places - n_places) * sizeof(*segment->places);
        memcpy(find(segment, hash), hash, 2 * sizeof(hash[0]));
        segment->n_used++;
    }
    set->n_hashes++;
    return 0;
}

uint64_t leat_hash_set_bytes(uint64_t n_hashes) {
    uint64_t a_segment = n_hashes / LEAT_HASH_SET_SEGMENTS, n_places = FIRST_PLACES;

    /* segments differ by some deviations of a binomial; a growing one is there twice */
    a_segment += a_segment / 8 + 32;
    while (n_places * 3 < a_segment * 4)
        n_places *= 2;
    return n_places * 16 * (LEAT_HASH_SET_SEGMENTS + 1) + sizeof(struct leat_hash_set);
}
