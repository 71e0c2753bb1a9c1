/* bpe_symbols.c: a word to the symbols that merging starts from: one for each character.
 *
 * A character is looked up with the prefix before it unless it is the first, and with the suffix
 * after it if it is the last. One that is no token becomes its bytes (<0x0A>) if the
 * model falls back to them and has them all; else the unknown token, several in a row becoming one
 * if fuse_unk; else nothing, and its neighbours become neighbours. As in HF a pending unknown token
 * is not put before the byte tokens that come after it, but before the next character that is
 * known.
 */
#include <errno.h>

#include "pipeline/tokenizer/byte_level.h"
#include "pipeline/tokenizer/model/bpe.h"
#include "proto/base/utf8.h"

/* A word under way. */
struct reading {
    const struct leat_bpe *bpe;
    struct leat_bpe_symbol *symbols;
    uint32_t n;
    bool has_pending; /* an unknown token that waits for what follows */
    uint32_t n_pending_bytes;
};

static void put(struct reading *reading, int32_t id, uint32_t n_bytes) {
    reading->symbols[reading->n++] = (struct leat_bpe_symbol){.id = id, .n_bytes = n_bytes};
}

static void flush_pending(struct reading *reading) {
    if (reading->has_pending)
        put(reading, reading->bpe->unk_id, reading->n_pending_bytes);
    reading->has_pending = false;
}

static bool put_bytes(struct reading *reading, const uint8_t *text, uint32_t n_bytes) {
    for (uint32_t i = 0; i < n_bytes; i++)
        if (reading->bpe->bytes[text[i]] < 0)
            return false;
    for (uint32_t i = 0; i < n_bytes; i++)
        put(reading, reading->bpe->bytes[text[i]], 1);
    return true;
}

static int put_unknown(struct reading *reading, uint32_t n_bytes, struct leat_error *err) {
    const struct leat_bpe *bpe = reading->bpe;

    if (!bpe->has_unk)
        return 0;
    if (reading->has_pending && bpe->fuse_unk) {
        reading->n_pending_bytes += n_bytes;
        return 0;
    }
    if (bpe->unk_id < 0)
        return leat_error_set(err, -EINVAL,
                              "the text has a character that the model does not know, and its "
                              "unknown token \"%s\" is not in the vocabulary",
                              bpe->unk_token);
    flush_pending(reading);
    reading->has_pending = true;
    reading->n_pending_bytes = n_bytes;
    return 0;
}

/* text: the character with its affixes; n_bytes: of the word. */
static int put_character(struct reading *reading, const uint8_t *text, uint32_t n_text,
                         uint32_t n_bytes, struct leat_error *err) {
    int32_t id = leat_token_table_find(&reading->bpe->base.tokens, text, n_text);

    if (id >= 0) {
        flush_pending(reading);
        put(reading, id, n_bytes);
        return 0;
    }
    if (reading->bpe->byte_fallback && put_bytes(reading, text, n_text))
        return 0;
    return put_unknown(reading, n_bytes, err);
}

static uint32_t add_affixes(const struct leat_bpe *bpe, const uint8_t *character, uint32_t n_bytes,
                            bool is_first, bool is_last, uint8_t *text) {
    uint32_t n = 0;

    if (!is_first) {
        memcpy(text, bpe->prefix, bpe->n_prefix);
        n = bpe->n_prefix;
    }
    memcpy(text + n, character, n_bytes);
    n += n_bytes;
    if (is_last) {
        memcpy(text + n, bpe->suffix, bpe->n_suffix);
        n += bpe->n_suffix;
    }
    return n;
}

/* Characters of GPT-2's alphabet have at most 2 bytes. */
static uint32_t next_character(const struct leat_bpe *bpe, const uint8_t *word, uint32_t n_left,
                               uint8_t *ret_character, uint32_t *ret_n_character) {
    if (bpe->base.is_byte_level) {
        *ret_n_character = leat_byte_level_map(word[0], ret_character);
        return 1;
    }
    *ret_n_character = leat_utf8_length(word, n_left);
    memcpy(ret_character, word, *ret_n_character);
    return *ret_n_character;
}

/* The id of the character at word[0] if it needs no search, or -1. Affixes must be empty. */
static int32_t find_single(const struct leat_bpe *bpe, const uint8_t *word, uint32_t n_left,
                           uint32_t *ret_n) {
    uint32_t code;

    *ret_n = 1;
    if (bpe->single[word[0]] >= 0 || !bpe->wide)
        return bpe->single[word[0]];
    *ret_n = leat_utf8_length(word, n_left);
    code = leat_utf8_code_point(word, n_left);
    return code < LEAT_BPE_CHARACTERS_MAX ? bpe->wide[code] : -1;
}

static int read_characters(struct reading *reading, const uint8_t *word, uint32_t n_bytes,
                           struct leat_error *err) {
    const struct leat_bpe *bpe = reading->bpe;
    bool has_affixes = bpe->n_prefix || bpe->n_suffix;
    int r = 0;

    for (uint32_t i = 0, n; r == 0 && i < n_bytes; i += n) {
        uint8_t character[4], text[2 * LEAT_BPE_AFFIX_MAX + 4];
        uint32_t n_character;
        int32_t id = has_affixes ? -1 : find_single(bpe, word + i, n_bytes - i, &n);
        bool is_last;

        if (id >= 0) {
            flush_pending(reading);
            put(reading, id, n);
            continue;
        }
        n = next_character(bpe, word + i, n_bytes - i, character, &n_character);
        is_last = i + n == n_bytes;
        n_character = add_affixes(bpe, character, n_character, i == 0, is_last, text);
        r = put_character(reading, text, n_character, n, err);
    }
    flush_pending(reading);
    return r;
}

/* Symbols of a byte-level model that has all bytes. */
static uint32_t read_bytes(const struct leat_bpe *bpe, const uint8_t *word, uint32_t n_bytes,
                           struct leat_bpe_symbol *symbols) {
    uint32_t n_symbols = 0;

    for (uint32_t at = 0, n; at < n_bytes; at += n) {
        int32_t id = bpe->single[word[at]];

        n = 1;
        if (word[at] >= 0x80 && bpe->characters.index) {
            const struct leat_bpe_character *character =
                leat_bpe_characters_find(&bpe->characters, word, at, n_bytes, &n);

            if (character)
                id = (int32_t)character->id;
        }
        symbols[n_symbols++] = (struct leat_bpe_symbol){.id = id, .n_bytes = n};
    }
    return n_symbols;
}

int leat_bpe_make_symbols(const struct leat_bpe *bpe, struct leat_bpe_scratch *scratch,
                          const uint8_t *word, uint32_t n_bytes, uint32_t *ret_n_symbols,
                          struct leat_error *err) {
    struct reading reading = {.bpe = bpe};
    int r;

    if (leat_bpe_scratch_reserve(scratch, n_bytes) < 0)
        return leat_error_oom(err);
    if (bpe->has_all_bytes) {
        *ret_n_symbols = read_bytes(bpe, word, n_bytes, scratch->symbols);
        return 0;
    }
    reading.symbols = scratch->symbols;
    r = read_characters(&reading, word, n_bytes, err);
    *ret_n_symbols = reading.n;
    return r;
}

int32_t leat_bpe_find_word(const struct leat_bpe *bpe, struct leat_bpe_scratch *scratch,
                           const uint8_t *word, uint32_t n_bytes) {
    if (n_bytes == 0 || n_bytes > bpe->longest[word[0]])
        return -1;
    if (!bpe->base.is_byte_level)
        return leat_token_table_find(&bpe->base.tokens, word, n_bytes);
    scratch->mapped.n_bytes = 0;
    if (leat_text_buffer_reserve(&scratch->mapped, (size_t)n_bytes * 2, false) < 0)
        return -1;
    for (uint32_t i = 0; i < n_bytes; i++) {
        memcpy(scratch->mapped.bytes + scratch->mapped.n_bytes, bpe->mapped[word[i]], 2);
        scratch->mapped.n_bytes += bpe->n_mapped[word[i]];
    }
    return leat_token_table_find(&bpe->base.tokens, scratch->mapped.bytes, scratch->mapped.n_bytes);
}
