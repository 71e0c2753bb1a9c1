/* bpe_characters.c: see bpe_characters.h. */
#include "pipeline/tokenizer/model/bpe_characters.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/tokenizer/byte_level.h"
#include "pipeline/tokenizer/model/bpe_pairs.h"
#include "pipeline/tokenizer/token_table.h"
#include "pipeline/tokenizer/unicode/unicode.h"
#include "proto/base/array.h"
#include "proto/base/utf8.h"

#define NO_RANK   LEAT_BPE_NO_RANK
#define N_CLASSES 65 /* of neighbouring bytes: by byte & 63 above ASCII, and ASCII */
#define ASCII     64

/* The least rank of the merges of a token that is a part of a character, as the left one by the
 * byte that the right one begins with, and as the right one by the byte that the left one ends
 * with. */
struct edges {
    uint32_t as_left[N_CLASSES], as_right[N_CLASSES];
};

static uint32_t class_of(int byte) {
    return byte < 0x80 ? ASCII : (uint32_t)byte & 63;
}

/* The bytes that a token begins and ends with, by class, and whether it is one or two bytes above
 * ASCII. */
struct token_ends {
    uint8_t first, last;
    bool is_part;
};

struct survey {
    const struct leat_bpe_pairs *pairs;
    const struct leat_token_table *tokens;
    const int32_t *single;
    uint32_t *least; /* by id: the least rank of its merges */
    uint32_t *part;  /* by id: its place among the parts; 0: it is none */
    struct token_ends *ends;
    struct edges *parts;
    size_t n_parts, parts_capacity;
};

static int byte_at(const uint8_t *text, uint32_t n) {
    return leat_byte_level_unmap(leat_utf8_code_point(text, n));
}

static struct token_ends read_ends(const struct leat_token_table *tokens, uint32_t id) {
    uint32_t n, last;
    const uint8_t *text = leat_token_table_text(tokens, (int32_t)id, &n);
    int first_byte, last_byte;

    if (!text || !n)
        return (struct token_ends){.first = ASCII, .last = ASCII};
    for (last = n - 1; last > 0 && (text[last] & 0xc0) == 0x80;)
        last--;
    first_byte = byte_at(text, n);
    last_byte = byte_at(text + last, n - last);
    return (struct token_ends){.first = (uint8_t)class_of(first_byte),
                               .last = (uint8_t)class_of(last_byte),
                               .is_part = first_byte >= 0x80 && last_byte >= 0x80 &&
                                          last <= leat_utf8_length(text, n)};
}

static void lower(uint32_t *least, uint32_t rank) {
    if (rank < *least)
        *least = rank;
}

/* Returns false if there is no memory. */
static bool note_part(struct survey *survey, uint32_t id) {
    struct edges *edges;

    if (survey->part[id] || !survey->ends[id].is_part)
        return true;
    if (!leat_array_reserve(&survey->parts, survey->n_parts + 1, &survey->parts_capacity))
        return false;
    edges = &survey->parts[survey->n_parts];
    for (uint32_t i = 0; i < N_CLASSES; i++)
        edges->as_left[i] = edges->as_right[i] = NO_RANK;
    survey->part[id] = (uint32_t)survey->n_parts++;
    return true;
}

static bool note_pair(struct survey *survey, uint32_t left, uint32_t right, uint32_t rank) {
    lower(&survey->least[left], rank);
    lower(&survey->least[right], rank);
    if (!note_part(survey, left) || !note_part(survey, right))
        return false;
    lower(&survey->parts[survey->part[left]].as_left[survey->ends[right].first], rank);
    lower(&survey->parts[survey->part[right]].as_right[survey->ends[left].last], rank);
    return true;
}

static bool note_pairs(struct survey *survey) {
    const struct leat_bpe_pairs *pairs = survey->pairs;
    bool is_done = true;

    survey->least = malloc(pairs->n_ids * sizeof(*survey->least));
    survey->part = calloc(pairs->n_ids, sizeof(*survey->part));
    survey->ends = malloc(pairs->n_ids * sizeof(*survey->ends));
    survey->n_parts = 1; /* that of all tokens that are no part */
    if (!survey->least || !survey->part || !survey->ends ||
        !leat_array_reserve(&survey->parts, 1, &survey->parts_capacity))
        return false;
    for (uint32_t i = 0; i < pairs->n_ids; i++) {
        survey->least[i] = NO_RANK;
        survey->ends[i] = read_ends(survey->tokens, i);
    }
    for (uint64_t i = 0; is_done && i < pairs->n_slots; i++) {
        uint32_t left, right;

        if (pairs->slots[i] == UINT64_MAX)
            continue;
        leat_bpe_pairs_split(pairs->slots[i] >> LEAT_BPE_RANK_BITS, &left, &right);
        is_done = note_pair(survey, left, right, pairs->slots[i] & NO_RANK);
    }
    return is_done;
}

/* Part of a character, or the whole of it; id < 0: that is no token. */
struct part {
    int32_t id;
    uint32_t rank; /* the greatest of its merges */
};

static const struct part no_part = {.id = -1, .rank = NO_RANK};

static struct part join(const struct survey *survey, struct part left, struct part right) {
    uint32_t rank, most = left.rank > right.rank ? left.rank : right.rank;

    if (left.id < 0 || right.id < 0)
        return no_part;
    rank = leat_bpe_pairs_rank(survey->pairs, (uint32_t)left.id, (uint32_t)right.id);
    if (rank == NO_RANK)
        return no_part;
    return (struct part){.id = (int32_t)leat_bpe_pairs_id(survey->pairs, rank),
                         .rank = rank > most ? rank : most};
}

/* The parts that begin a character, those that end it, and the whole of it. */
struct parts {
    struct part first[2], last[2], whole;
};

static struct parts parts_of(const struct survey *survey, const uint8_t *bytes, uint32_t n) {
    struct part part[3];
    struct parts parts;

    for (uint32_t i = 0; i < n; i++)
        part[i] = (struct part){.id = survey->single[bytes[i]]};
    parts = (struct parts){.first = {part[0], no_part}, .last = {part[n - 1], no_part}};
    if (n == 2) {
        parts.whole = join(survey, part[0], part[1]);
        return parts;
    }
    parts.first[1] = join(survey, part[0], part[1]);
    parts.last[1] = join(survey, part[1], part[2]);
    parts.whole = parts.first[1].rank < parts.last[1].rank ? join(survey, parts.first[1], part[2])
                                                           : join(survey, part[0], parts.last[1]);
    return parts;
}

/* True if all merges of these parts with a neighbour of that class have a rank above this one.
 * is_before: the neighbour stands before the parts; else behind them. */
static bool stay_whole(const struct survey *survey, const struct part parts[2], uint32_t rank,
                       uint32_t class, bool is_before) {
    for (int i = 0; i < 2; i++) {
        const struct edges *edges;

        if (parts[i].id < 0)
            continue;
        edges = &survey->parts[survey->part[parts[i].id]];
        if ((is_before ? edges->as_right : edges->as_left)[class] <= rank)
            return false;
    }
    return true;
}

static bool add_character(struct leat_bpe_characters *characters, const struct survey *survey,
                          uint32_t code) {
    uint8_t bytes[4];
    struct parts parts = parts_of(survey, bytes, leat_unicode_encode(code, bytes));
    struct leat_bpe_character character = {.id = (uint32_t)parts.whole.id};
    uint32_t rank = parts.whole.rank;

    if (parts.whole.id <= 0 || survey->least[parts.whole.id] <= rank)
        return true;
    for (uint32_t class = 0; class < ASCII; class ++) {
        character.before |= (uint64_t)stay_whole(survey, parts.first, rank, class, true) << class;
        character.behind |= (uint64_t)stay_whole(survey, parts.last, rank, class, false) << class;
    }
    character.before_ascii = stay_whole(survey, parts.first, rank, ASCII, true);
    character.behind_ascii = stay_whole(survey, parts.last, rank, ASCII, false);
    if (!leat_array_reserve(&characters->all, characters->n + 1, &characters->capacity))
        return false;
    characters->index[code] = (uint16_t)characters->n;
    characters->all[characters->n++] = character;
    return true;
}

static bool add_characters(struct leat_bpe_characters *characters, const struct survey *survey) {
    bool is_done;

    characters->index = calloc(LEAT_BPE_CHARACTERS_MAX, sizeof(*characters->index));
    is_done = characters->index && leat_array_reserve(&characters->all, 1, &characters->capacity);
    if (is_done)
        characters->all[characters->n++] = (struct leat_bpe_character){.id = 0};
    for (uint32_t code = 0x80; is_done && code < LEAT_BPE_CHARACTERS_MAX; code++)
        is_done = add_character(characters, survey, code);
    return is_done;
}

int leat_bpe_characters_init(struct leat_bpe_characters *characters,
                             const struct leat_bpe_pairs *pairs,
                             const struct leat_token_table *tokens, const int32_t single[256]) {
    struct survey survey = {.pairs = pairs, .tokens = tokens, .single = single};
    bool is_done = note_pairs(&survey) && add_characters(characters, &survey);

    free(survey.least);
    free(survey.part);
    free(survey.ends);
    free(survey.parts);
    return is_done ? 0 : -ENOMEM;
}

void leat_bpe_characters_deinit(struct leat_bpe_characters *characters) {
    free(characters->index);
    free(characters->all);
    *characters = (struct leat_bpe_characters){.index = NULL};
}

size_t leat_bpe_characters_n_bytes(const struct leat_bpe_characters *characters) {
    if (!characters->index)
        return 0;
    return LEAT_BPE_CHARACTERS_MAX * sizeof(*characters->index) +
           characters->capacity * sizeof(*characters->all);
}
