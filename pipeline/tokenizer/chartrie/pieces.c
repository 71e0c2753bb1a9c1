/* pieces.c: see pieces.h. A text is copied in windows into a padded buffer, as the cache reads its
 * words 16 bytes at once; a window ends where its last whole piece does.
 */
#include "pipeline/tokenizer/chartrie/pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/chartrie/chartrie_internal.h"
#include "pipeline/tokenizer/model/model.h"
#include "proto/base/simd.h"

#define WINDOW_BYTES LEAT_CHARTRIE_WINDOW

/* Texts of records have few words but for names and numbers; what does not repeat must not take
 * much memory. */
static const struct leat_word_cache_size cache_size = {.slots = LEAT_CHARTRIE_SLOTS_MIN,
                                                       .slots_max = LEAT_CHARTRIE_SLOTS_MAX,
                                                       .long_bytes = LEAT_CHARTRIE_LONG_BYTES_MIN,
                                                       .long_bytes_max =
                                                           LEAT_CHARTRIE_LONG_BYTES_MAX};

int leat_chartrie_pieces_new(struct leat_chartrie_pieces **ret_pieces) {
    struct leat_chartrie_pieces *pieces = calloc(1, sizeof(*pieces));

    if (!pieces || leat_word_cache_init_sized(&pieces->cache, &cache_size) < 0) {
        free(pieces);
        return -ENOMEM;
    }
    *ret_pieces = pieces;
    return 0;
}

struct leat_chartrie_pieces *leat_chartrie_pieces_free(struct leat_chartrie_pieces *pieces) {
    if (pieces)
        leat_word_cache_deinit(&pieces->cache);
    free(pieces);
    return NULL;
}

size_t leat_chartrie_pieces_max_bytes(void) {
    return LEAT_WORD_CACHE_BYTES(LEAT_CHARTRIE_SLOTS_MAX, LEAT_CHARTRIE_LONG_BYTES_MAX) +
           sizeof(struct leat_chartrie_pieces);
}

/* ---- pieces */

/* A window under way. */
struct window {
    const struct leat_chartrie *trie;
    struct leat_encoder *encoder;
    struct leat_chartrie_pieces *pieces;
    uint32_t end;     /* of the pieces that are done */
    uint32_t unknown; /* the first unknown character; ERROR mode */
    int error;        /* -ENODATA: there is one */
};

/* A piece by the ways of whole texts, into ids that have room for it. */
static int encode_any_piece(struct window *window, const uint8_t *piece, uint32_t n_bytes,
                            int32_t *ids, size_t *ret_n_ids) {
    struct leat_encoder encoder = *window->encoder;
    struct leat_encoder_row row = {
        .text = piece, .n_bytes = n_bytes, .unknown = LEAT_ENCODER_NO_UNKNOWN};
    struct leat_segment segment = {.trie = window->trie, .encoder = &encoder, .row = &row};
    int r;

    encoder.ids = ids;
    encoder.n_ids = 0;
    encoder.ids_capacity = n_bytes + LEAT_MODEL_IDS_SLACK;
    r = leat_segment_text(&segment);
    window->encoder->matches = encoder.matches;
    window->encoder->path = encoder.path;
    window->encoder->costs = encoder.costs;
    window->encoder->marks = encoder.marks;
    *ret_n_ids = encoder.n_ids;
    if (r == 0 && row.unknown != LEAT_ENCODER_NO_UNKNOWN) {
        window->unknown = (uint32_t)(piece - window->pieces->text) + row.unknown;
        return -ENODATA;
    }
    return r;
}

static int encode_piece(void *userdata, const uint8_t *piece, uint32_t n_bytes, int32_t *ids,
                        size_t *ret_n_ids, struct leat_error *err) {
    struct window *window = userdata;
    const struct leat_chartrie *trie = window->trie;
    uint32_t matches[LEAT_SEGMENT_SMALL + 1];

    (void)err;
    *ret_n_ids = 0;
    if (n_bytes <= LEAT_SEGMENT_SMALL) {
        leat_automaton_scan_piece(&trie->automaton, piece, n_bytes, matches);
        matches[n_bytes] = 0;
        *ret_n_ids = trie->options.mode == LEAT_CHARTRIE_GREEDY
                         ? leat_segment_small_greedy(trie, matches, n_bytes, ids)
                         : leat_segment_small_shortest(trie, matches, n_bytes, ids);
    }
    return *ret_n_ids > 0 ? 0 : encode_any_piece(window, piece, n_bytes, ids, ret_n_ids);
}

/* A piece that is not among the short ones of the cache; returns the end of its ids, or NULL. */
__attribute__((noinline)) static int32_t *put_other(struct window *window, uint32_t start,
                                                    uint32_t end, int32_t *ids) {
    struct leat_chartrie_pieces *pieces = window->pieces;
    const uint8_t *piece = pieces->text + start;
    struct leat_word_key key = {.low = 0};
    size_t n_ids = 0;

    if (end - start <= LEAT_WORD_CACHE_SHORT_MAX)
        key = leat_word_key(piece, end - start);
    window->error =
        leat_word_cache_encode_other(&pieces->cache, &key, piece, end - start, encode_piece, window,
                                     ids, &n_ids, &pieces->ignored);
    return window->error < 0 ? NULL : ids + n_ids;
}

/* The same for any piece. */
LEAT_ALWAYS_INLINE int32_t *put_piece(struct window *window, const uint8_t *text, uint32_t start,
                                      uint32_t end, int32_t *ids) {
    const struct leat_word_cache *cache = &window->pieces->cache;
    struct leat_word_key key;
    int n_ids;

    if (__builtin_expect(end - start > LEAT_WORD_CACHE_SHORT_MAX, 0))
        return put_other(window, start, end, ids);
    key = leat_word_key(text + start, end - start);
    n_ids = leat_word_cache_find(cache, &key, ids);
    return __builtin_expect(n_ids >= 0, 1) ? ids + n_ids : put_other(window, start, end, ids);
}

/* Puts the pieces of the first n bytes of the text; the last one of them if the text ends there.
 * Returns the end of their ids, or NULL: window->error says why. */
LEAT_ALWAYS_INLINE int32_t *put_pieces(struct window *window, uint32_t n, bool is_end, int32_t *ids,
                                       leat_find_blanks_fn *find_blanks) {
    const struct leat_chartrie_cuts *cuts = &window->trie->cuts;
    const uint8_t *text = window->pieces->text;
    uint32_t start = 0;

    for (uint32_t base = 0; base < n; base += LEAT_BLANKS_BYTES) {
        uint64_t blanks = find_blanks(text + base);

        for (blanks &= base ? UINT64_MAX : UINT64_MAX - 1; blanks; blanks &= blanks - 1) {
            uint32_t at = base + (uint32_t)__builtin_ctzll(blanks);

            if (!leat_chartrie_is_cut(cuts, text[at - 1], text[at]))
                continue;
            ids = put_piece(window, text, start, at, ids);
            if (!ids)
                return NULL;
            start = at;
        }
    }
    window->end = is_end ? n : start;
    return is_end ? put_piece(window, text, start, n, ids) : ids;
}

LEAT_SIMD static int32_t *put_pieces_simd(struct window *window, uint32_t n, bool is_end,
                                          int32_t *ids) {
    return put_pieces(window, n, is_end, ids, leat_find_blanks_simd);
}

/* A piece that is longer than a window; returns where it ends, or SIZE_MAX if memory is out. */
static size_t encode_long_piece(struct leat_segment *segment, size_t at) {
    const struct leat_chartrie_cuts *cuts = &segment->trie->cuts;
    struct leat_encoder_row *row = segment->row, part = {.text = row->text + at};
    struct leat_segment rest = {.trie = segment->trie, .encoder = segment->encoder, .row = &part};
    size_t end = at + WINDOW_BYTES;

    while (end < row->n_bytes && !leat_chartrie_is_cut(cuts, row->text[end - 1], row->text[end]))
        end++;
    part.n_bytes = (uint32_t)(end - at);
    part.unknown = LEAT_ENCODER_NO_UNKNOWN;
    if (leat_segment_text(&rest) < 0)
        return SIZE_MAX;
    if (part.unknown != LEAT_ENCODER_NO_UNKNOWN)
        row->unknown = (uint32_t)at + part.unknown;
    return end;
}

/* Encodes a window's pieces, or one longer piece, from `at` on; returns the end of what was
 * encoded, or SIZE_MAX if memory is out. */
static size_t encode_window(struct leat_segment *segment, size_t at) {
    struct leat_encoder *encoder = segment->encoder;
    struct leat_encoder_row *row = segment->row;
    size_t n = row->n_bytes - at < WINDOW_BYTES ? row->n_bytes - at : WINDOW_BYTES;
    struct window window = {.trie = segment->trie, .encoder = encoder, .pieces = encoder->pieces};
    bool is_end = at + n == row->n_bytes;
    int32_t *ids;

    if (leat_encoder_make_room(encoder, n + LEAT_MODEL_IDS_SLACK) < 0)
        return SIZE_MAX;
    ids = encoder->ids + encoder->n_ids;
    memcpy(window.pieces->text, row->text + at, n);
    memset(window.pieces->text + n, 0, LEAT_TEXT_PADDING);
    ids = leat_simd_is_here()
              ? put_pieces_simd(&window, (uint32_t)n, is_end, ids)
              : put_pieces(&window, (uint32_t)n, is_end, ids, leat_find_blanks_portable);
    if (!ids && window.error != -ENODATA)
        return SIZE_MAX;
    if (!ids) {
        row->unknown = (uint32_t)at + window.unknown;
        return row->n_bytes;
    }
    encoder->n_ids = (size_t)(ids - encoder->ids);
    return window.end > 0 ? at + window.end : encode_long_piece(segment, at);
}

int leat_segment_pieces(struct leat_segment *segment) {
    struct leat_encoder_row *row = segment->row;

    for (size_t at = 0; at < row->n_bytes && row->unknown == LEAT_ENCODER_NO_UNKNOWN;) {
        at = encode_window(segment, at);
        if (at == SIZE_MAX)
            return -ENOMEM;
    }
    return 0;
}
