/* dedup/hash_set.h: a set of 128-bit hashes, for dedup. Owner: the run.
 *
 * The set is cut in segments by the hash's upper bits; each is a table of its own with linear
 * probing that doubles when three quarters are full. So growing never takes long at once: a
 * hundred million hashes are a quarter million a segment. A hash of all zeros is kept apart, as
 * zeros are empty places.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_HASH_SET_SEGMENTS 512

struct leat_hash_segment {
    uint64_t (*places)[2]; /* [n_places], a power of two */
    size_t n_places, n_used;
};

struct leat_hash_set {
    struct leat_hash_segment segments[LEAT_HASH_SET_SEGMENTS];
    bool has_zero;
    uint64_t n_hashes, n_bytes; /* n_bytes: of all places */
};

/* All zero is an empty set. */
void leat_hash_set_deinit(struct leat_hash_set *set);
bool leat_hash_set_has(const struct leat_hash_set *set, const uint64_t hash[2]);
/* Adds a hash that is not in the set. 0 or -ENOMEM. */
int leat_hash_set_add(struct leat_hash_set *set, const uint64_t hash[2]);
/* Bytes of a set with so many hashes, at most. */
uint64_t leat_hash_set_bytes(uint64_t n_hashes);
