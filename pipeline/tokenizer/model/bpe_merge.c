/* bpe_merge.c: merging the symbols of a word, the least rank first.
 *
 * Short words: the rank of each pair stands at its left symbol's place as one 32-bit key, rank
 * above place, so that the least key is the next merge and of equal ranks the leftmost; it is found
 * by a scan of the whole array, eight keys at a time, and a merge updates two keys. Symbols are
 * never moved; gaps hold the greatest key. For the up to some dozens of symbols of real words
 * nothing is faster.
 *
 * Long words: a heap of (rank, place) over a linked list, O(n log n). An entry whose pair has
 * changed since is stale and dropped; a pair's rank tells (a span of text has one rank at most as
 * long as symbols only ever grow). With dropout each merge that comes up is skipped with that
 * probability until the next one is carried out, as in HF.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/model/bpe.h"
#include "proto/base/array.h"
#include "proto/base/simd.h"

#define NO_KEY UINT32_MAX
#define NONE   UINT32_MAX

void leat_bpe_scratch_deinit(struct leat_bpe_scratch *scratch) {
    free(scratch->symbols);
    free(scratch->next);
    free(scratch->previous);
    free(scratch->heap);
    leat_text_buffer_deinit(&scratch->mapped);
    *scratch = (struct leat_bpe_scratch){0};
}

int leat_bpe_scratch_reserve(struct leat_bpe_scratch *scratch, size_t n_symbols) {
    size_t old = scratch->capacity, capacities[3] = {old, old, old};

    if (n_symbols <= old)
        return 0;
    if (!leat_array_reserve(&scratch->symbols, n_symbols, &capacities[0]) ||
        !leat_array_reserve(&scratch->next, n_symbols, &capacities[1]) ||
        !leat_array_reserve(&scratch->previous, n_symbols, &capacities[2]))
        return -ENOMEM;
    scratch->capacity = capacities[0] < capacities[1] ? capacities[0] : capacities[1];
    return 0;
}

/* A short word under way. A place is a symbol's index when the word began. */
struct small {
    uint32_t keys[LEAT_BPE_SMALL_WORD + 14];
    uint8_t next[LEAT_BPE_SMALL_WORD + 1];
    uint8_t previous[LEAT_BPE_SMALL_WORD + 1];
};

static inline uint32_t make_key(uint32_t rank, uint32_t place) {
    return rank == LEAT_BPE_NO_RANK ? NO_KEY : rank << 8 | place;
}

static inline uint32_t key_of(const struct leat_bpe *bpe, int32_t left, int32_t right,
                              uint32_t place) {
    return make_key(leat_bpe_pairs_rank(&bpe->pairs, (uint32_t)left, (uint32_t)right), place);
}

static inline uint32_t first_key_of(const struct leat_bpe *bpe, int32_t left, int32_t right,
                                    uint32_t place) {
    if (bpe->pairs.low && (left | right) < 256)
        return make_key(bpe->pairs.low[left << 8 | right], place);
    return key_of(bpe, left, right, place);
}

LEAT_ALWAYS_INLINE uint32_t least_key(const uint32_t *keys, uint32_t n) {
    uint32_t least[8];
    uint32_t result;

    memcpy(least, keys, sizeof(least));
    for (uint32_t i = 8; i < n; i += 8)
        for (uint32_t lane = 0; lane < 8; lane++)
            least[lane] = keys[i + lane] < least[lane] ? keys[i + lane] : least[lane];
    result = least[0];
    for (uint32_t lane = 1; lane < 8; lane++)
        result = least[lane] < result ? least[lane] : result;
    return result;
}

LEAT_ALWAYS_INLINE void merge_at(const struct leat_bpe *bpe, struct small *small,
                                 struct leat_bpe_symbol *symbols, uint32_t key, uint32_t n) {
    uint32_t place = key & 255, right = small->next[place], behind = small->next[right];
    int32_t id = (int32_t)leat_bpe_pairs_id(&bpe->pairs, key >> 8);

    symbols[place].id = id;
    symbols[place].n_bytes += symbols[right].n_bytes;
    small->keys[right] = NO_KEY;
    small->next[place] = (uint8_t)behind;
    small->previous[behind] = (uint8_t)place;
    small->keys[place] = behind < n ? key_of(bpe, id, symbols[behind].id, place) : NO_KEY;
    if (place > 0) {
        uint32_t left = small->previous[place];

        small->keys[left] = key_of(bpe, symbols[left].id, id, left);
    }
}

LEAT_ALWAYS_INLINE uint32_t merge_small(const struct leat_bpe *bpe, struct leat_bpe_symbol *symbols,
                                        uint32_t n) {
    struct small small;
    uint32_t n_left = 0, key;

    for (uint32_t i = 0; i + 1 < n; i++)
        small.keys[i] = first_key_of(bpe, symbols[i].id, symbols[i + 1].id, i);
    memset(small.keys + n - 1, 0xff, 9 * sizeof(*small.keys));
    for (uint32_t i = 0; i <= n; i++) {
        small.next[i] = (uint8_t)(i + 1);
        small.previous[i] = (uint8_t)(i - 1);
    }
    while ((key = least_key(small.keys, n)) != NO_KEY)
        merge_at(bpe, &small, symbols, key, n);
    for (uint32_t i = 0; i < n; i = small.next[i])
        symbols[n_left++] = symbols[i];
    return n_left;
}

LEAT_SIMD static uint32_t merge_small_simd(const struct leat_bpe *bpe,
                                           struct leat_bpe_symbol *symbols, uint32_t n) {
    return merge_small(bpe, symbols, n);
}

static uint32_t merge_small_portable(const struct leat_bpe *bpe, struct leat_bpe_symbol *symbols,
                                     uint32_t n) {
    return merge_small(bpe, symbols, n);
}

/* A long word under way. */
struct large {
    const struct leat_bpe *bpe;
    struct leat_bpe_scratch *scratch;
    size_t n_heap;
    uint32_t n;
};

static int push(struct large *large, uint64_t entry) {
    struct leat_bpe_scratch *scratch = large->scratch;
    size_t i = large->n_heap++;

    if (!leat_array_reserve(&scratch->heap, large->n_heap, &scratch->heap_capacity))
        return -ENOMEM;
    for (; i > 0 && entry < scratch->heap[(i - 1) / 2]; i = (i - 1) / 2)
        scratch->heap[i] = scratch->heap[(i - 1) / 2];
    scratch->heap[i] = entry;
    return 0;
}

static uint64_t pop(struct large *large) {
    uint64_t *heap = large->scratch->heap;
    uint64_t top = heap[0], last = heap[--large->n_heap];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < large->n_heap) {
        child += child + 1 < large->n_heap && heap[child + 1] < heap[child];
        if (last <= heap[child])
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return top;
}

static uint32_t rank_at(const struct large *large, uint32_t place) {
    const struct leat_bpe_symbol *symbols = large->scratch->symbols;
    uint32_t right = large->scratch->next[place];

    if (right >= large->n)
        return LEAT_BPE_NO_RANK;
    return leat_bpe_pairs_rank(&large->bpe->pairs, (uint32_t)symbols[place].id,
                               (uint32_t)symbols[right].id);
}

static int push_pair(struct large *large, uint32_t place) {
    uint32_t rank = rank_at(large, place);

    return rank == LEAT_BPE_NO_RANK ? 0 : push(large, (uint64_t)rank << 32 | place);
}

static int merge_pair(struct large *large, uint32_t place, uint32_t id) {
    struct leat_bpe_scratch *scratch = large->scratch;
    uint32_t right = scratch->next[place], behind = scratch->next[right];
    int r = 0;

    scratch->symbols[place].id = (int32_t)id;
    scratch->symbols[place].n_bytes += scratch->symbols[right].n_bytes;
    scratch->symbols[right].id = -1;
    scratch->next[place] = behind;
    if (behind < large->n)
        scratch->previous[behind] = place;
    if (scratch->previous[place] != NONE)
        r = push_pair(large, scratch->previous[place]);
    return r < 0 ? r : push_pair(large, place);
}

static int begin_large(struct large *large) {
    struct leat_bpe_scratch *scratch = large->scratch;
    int r = 0;

    for (uint32_t i = 0; i < large->n; i++) {
        scratch->next[i] = i + 1;
        scratch->previous[i] = i ? i - 1 : NONE;
    }
    for (uint32_t i = 0; r == 0 && i + 1 < large->n; i++)
        r = push_pair(large, i);
    return r;
}

static uint32_t finish_large(struct large *large) {
    struct leat_bpe_symbol *symbols = large->scratch->symbols;
    uint32_t n_left = 0;

    for (uint32_t i = 0; i < large->n; i = large->scratch->next[i])
        symbols[n_left++] = symbols[i];
    return n_left;
}

/* Carries out the entry, if it still names the pair that stands at its place. */
static int take_entry(struct large *large, uint64_t entry) {
    uint32_t place = (uint32_t)entry, rank = (uint32_t)(entry >> 32);

    if (large->scratch->symbols[place].id < 0 || rank_at(large, place) != rank)
        return 0;
    return merge_pair(large, place, leat_bpe_pairs_id(&large->bpe->pairs, rank));
}

static int64_t merge_large(const struct leat_bpe *bpe, struct leat_bpe_scratch *scratch,
                           uint32_t n) {
    struct large large = {.bpe = bpe, .scratch = scratch, .n = n};
    int r = begin_large(&large);

    while (r == 0 && large.n_heap)
        r = take_entry(&large, pop(&large));
    return r < 0 ? r : (int64_t)finish_large(&large);
}

/* Skipped entries are set aside until a merge is carried out. */
static int64_t merge_with_dropout(const struct leat_bpe *bpe, struct leat_bpe_scratch *scratch,
                                  struct leat_rng *random, uint32_t n) {
    struct large large = {.bpe = bpe, .scratch = scratch, .n = n};
    uint64_t *skipped = NULL;
    size_t n_skipped = 0, capacity = 0;
    int r = begin_large(&large);

    while (r == 0 && large.n_heap) {
        uint64_t entry = pop(&large);

        if (leat_rng_unit(random) < bpe->dropout) {
            if (leat_array_reserve(&skipped, n_skipped + 1, &capacity))
                skipped[n_skipped++] = entry;
            else
                r = -ENOMEM;
            continue;
        }
        while (r == 0 && n_skipped)
            r = push(&large, skipped[--n_skipped]);
        if (r == 0)
            r = take_entry(&large, entry);
    }
    free(skipped);
    return r < 0 ? r : (int64_t)finish_large(&large);
}

int64_t leat_bpe_merge(const struct leat_bpe *bpe, struct leat_bpe_scratch *scratch,
                       struct leat_rng *random, uint32_t n) {
    if (bpe->dropout > 0)
        return merge_with_dropout(bpe, scratch, random, n);
    if (n < 2)
        return n;
    if (n > LEAT_BPE_SMALL_WORD)
        return merge_large(bpe, scratch, n);
    if (leat_simd_is_here())
        return merge_small_simd(bpe, scratch->symbols, n);
    return merge_small_portable(bpe, scratch->symbols, n);
}
