/* precompiled.c: Precompiled: SentencePiece's rules, applied as Hugging Face does it.
 *
 * A grapheme cluster of less than 6 bytes is looked up as a whole, and if an entry is a prefix of
 * it, all of it is replaced; else each of its characters is looked up, or stays. Replacements are
 * never looked up again. Where neither of two neighbours joins others, as in plain ASCII that
 * the map leaves alone, there is nothing to do.
 *
 * Origins: the characters of a replacement take the places of those replaced; what is more is new,
 * and what is less vanishes after the last character before, whichever that is. At the very start
 * there is none, and the places stay behind the characters from there on.
 */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/tokenizer/normalize/char_table.h"
#include "pipeline/tokenizer/normalize/charsmap.h"
#include "pipeline/tokenizer/normalize/step.h"
#include "pipeline/tokenizer/unicode/grapheme.h"
#include "pipeline/tokenizer/unicode/unicode.h"

#define CLUSTER_BYTES_MAX 5

struct precompiled {
    struct leat_normalize_step base;
    struct leat_charsmap map;
    struct leat_char_table table; /* of single characters */
};

/* A rewriting under way. With origins, the last character waits for what may vanish after it. */
struct run {
    const struct precompiled *precompiled;
    struct leat_writer writer;
    uint32_t last;
    int32_t last_change;
    bool has_last;
    bool has_origins; /* false while the result is only measured */
};

static int put(struct run *run, uint32_t c, int32_t change) {
    int r = 0;

    if (run->has_last)
        r = leat_writer_put(&run->writer, run->last, run->last_change);
    run->last = c;
    run->last_change = change;
    run->has_last = true;
    return r;
}

static int32_t count_chars(const uint8_t *bytes, uint32_t n_bytes) {
    int32_t n = 0;

    for (uint32_t i = 0; i < n_bytes; i++)
        n += (bytes[i] & 0xc0) != 0x80;
    return n;
}

/* n_source characters become other bytes, with origins. */
static int put_replacement(struct run *run, int32_t n_source, const uint8_t *bytes,
                           uint32_t n_bytes) {
    int32_t n = count_chars(bytes, n_bytes), i = 0;
    int r = 0;

    for (uint32_t at = 0, n_char; at < n_bytes && r == 0; at += n_char, i++)
        r = put(run, leat_unicode_decode(bytes + at, &n_char), i >= n_source);
    if (n < n_source && run->has_last)
        run->last_change -= n_source - n;
    return r;
}

static int replace(struct run *run, const uint8_t *source, uint32_t n_source, const uint8_t *to) {
    uint32_t n_to = (uint32_t)strlen((const char *)to);

    if (run->has_origins)
        return put_replacement(run, count_chars(source, n_source), to, n_to);
    return leat_writer_replace(&run->writer, n_source, to, n_to);
}

static int keep(struct run *run, const uint8_t *source, uint32_t n_source) {
    uint32_t n_bytes;

    if (run->has_origins)
        return put(run, leat_unicode_decode(source, &n_bytes), 0);
    leat_writer_keep(&run->writer, n_source);
    return 0;
}

static int run_cluster(struct run *run, const uint8_t *source, uint32_t n_source) {
    const struct leat_charsmap *map = &run->precompiled->map;
    const uint8_t *to = NULL;
    int r = 0;

    if (n_source <= CLUSTER_BYTES_MAX)
        to = leat_charsmap_find(map, source, n_source);
    if (to)
        return replace(run, source, n_source, to);
    for (uint32_t at = 0, n_char; at < n_source && r == 0; at += n_char) {
        leat_unicode_decode(source + at, &n_char);
        to = leat_charsmap_find(map, source + at, n_char);
        r = to ? replace(run, source + at, n_char, to) : keep(run, source + at, n_char);
    }
    return r;
}

/* A character beyond ASCII may belong to the one before it: that is no part of the run then. */
static uint32_t end_run(const struct leat_text_view *text, uint32_t start, uint32_t end) {
    return end < text->n_bytes && end > start && text->bytes[end] >= 0x80 ? end - 1 : end;
}

/* ASCII from `at` on, which stays or becomes blanks whatever comes after it. */
static int run_ascii(struct run *run, const struct leat_text_view *text, uint32_t at,
                     uint32_t *ret_n_bytes) {
    const struct leat_ascii_map *map = &run->precompiled->table.ascii;
    struct leat_text_buffer *target = run->writer.target;
    uint32_t n = text->n_bytes - at;
    int r;

    if (!run->writer.has_changed) {
        *ret_n_bytes = end_run(text, at, leat_ascii_find_change(map, text->bytes, at, at + n)) - at;
        leat_writer_keep(&run->writer, *ret_n_bytes);
        return 0;
    }
    r = leat_writer_flush(&run->writer, n);
    if (r < 0)
        return r;
    n = leat_ascii_copy(map, text->bytes + at, n, target->bytes + target->n_bytes);
    n = end_run(text, at, at + n) - at;
    target->n_bytes += n;
    run->writer.at += n;
    run->writer.kept += n;
    *ret_n_bytes = n;
    return 0;
}

#define BIT(kind) (1U << LEAT_GRAPHEME_##kind)

/* True if this character is a whole cluster for certain. */
static bool is_alone(const struct leat_text_view *text, uint32_t at, uint32_t c, uint32_t n_bytes) {
    const uint32_t never = BIT(CONTROL) | BIT(LF);
    const uint32_t maybe = BIT(OTHER) | BIT(LV) | BIT(LVT) | BIT(PICTOGRAPHIC) | BIT(CONSONANT);
    const uint32_t joining = BIT(EXTEND) | BIT(EXTEND_CONJUNCT) | BIT(LINKER) | BIT(ZWJ) |
                             BIT(SPACING_MARK) | BIT(V) | BIT(T);
    uint32_t kind = 1U << leat_grapheme_of(c), next;

    if (kind & never)
        return true;
    if (!(kind & maybe))
        return false;
    at += n_bytes;
    if (at == text->n_bytes || text->bytes[at] < 0x80)
        return true;
    next = leat_unicode_decode(text->bytes + at, &n_bytes);
    return !(1U << leat_grapheme_of(next) & joining);
}

/* Without origins: the next character, if the table tells; 0: it does not. */
static int run_char(struct run *run, const struct leat_text_view *text, uint32_t at,
                    uint32_t *ret_n_bytes) {
    const struct leat_char_table *table = &run->precompiled->table;
    uint32_t c = leat_unicode_decode(text->bytes + at, ret_n_bytes);
    uint32_t entry = leat_char_table_entry(table, c);
    int r;

    if ((entry & 0xff) == LEAT_CHAR_KIND_KEEP && is_alone(text, at, c, *ret_n_bytes)) {
        leat_writer_keep(&run->writer, *ret_n_bytes);
        return 1;
    }
    if ((entry & 0xff) >= LEAT_CHAR_KIND_HANGUL || !is_alone(text, at, c, *ret_n_bytes))
        return 0;
    r = leat_writer_replace(&run->writer, *ret_n_bytes, table->pool + (entry >> 8), entry & 0xff);
    return r < 0 ? r : 1;
}

static int run_plain(struct run *run, const struct leat_text_view *text) {
    bool maps_ascii = run->precompiled->table.maps_ascii;
    int r = 0;

    for (uint32_t at = 0, n; at < text->n_bytes && r >= 0; at += n) {
        n = 0;
        if (maps_ascii && text->bytes[at] < 0x80)
            r = run_ascii(run, text, at, &n);
        if (n > 0 || r < 0)
            continue;
        r = run_char(run, text, at, &n);
        if (r == 0) {
            n = (uint32_t)leat_grapheme_length(text->bytes + at, text->n_bytes - at);
            r = run_cluster(run, text->bytes + at, n);
        }
    }
    return r < 0 ? r : 0;
}

static int run_with_origins(struct run *run, const struct leat_text_view *text) {
    int r = 0;

    for (uint32_t at = 0, n; at < text->n_bytes && r == 0; at += n) {
        n = (uint32_t)leat_grapheme_length(text->bytes + at, text->n_bytes - at);
        r = run_cluster(run, text->bytes + at, n);
    }
    if (r == 0 && run->has_last)
        r = leat_writer_put(&run->writer, run->last, run->last_change);
    return r;
}

static int run_precompiled(const struct leat_normalize_step *step,
                           struct leat_normalize_step_memory *memory, struct leat_text_view *text,
                           struct leat_error *err) {
    struct run run = {.precompiled = (const struct precompiled *)step};
    int r;

    (void)err;
    leat_writer_begin(&run.writer, &memory->writer, text);
    run.has_origins = text->origins && !memory->writer.measures;
    r = run.has_origins ? run_with_origins(&run, text) : run_plain(&run, text);
    return r < 0 ? r : leat_writer_end(&run.writer, text);
}

/* Loading. */

static void deinit_precompiled(struct leat_normalize_step *step) {
    leat_charsmap_deinit(&((struct precompiled *)step)->map);
    leat_char_table_deinit(&((struct precompiled *)step)->table);
}

/* Finds the replacement of a single character. */
static uint32_t find_char(const void *context, uint32_t c, uint32_t *ret_code_points) {
    uint8_t bytes[4];
    uint32_t n = 0, n_char, n_bytes = leat_unicode_encode(c, bytes);
    const uint8_t *to = leat_charsmap_find(context, bytes, n_bytes);

    if (!to) {
        ret_code_points[0] = c;
        return 1;
    }
    for (uint32_t at = 0; to[at]; at += n_char) {
        if (n == LEAT_CHAR_MAX)
            return LEAT_CHAR_DIFFICULT;
        ret_code_points[n++] = leat_unicode_decode(to + at, &n_char);
    }
    return n;
}

/* Runs of ASCII may be run over, but for a pair of which the map says other than of its parts. */
static bool keeps_line_end(const struct leat_charsmap *map) {
    return leat_charsmap_find(map, (const uint8_t *)"\r", 1) ||
           !leat_charsmap_find(map, (const uint8_t *)"\r\n", 2);
}

/* Characters whose numbers differ in the last 6 bits differ in the last byte alone. */
static bool is_kept(const void *context, uint32_t first) {
    uint8_t bytes[4];

    return first >= 0x80 &&
           leat_charsmap_is_apart(context, bytes, leat_unicode_encode(first, bytes) - 1);
}

static int load_tables(struct precompiled *precompiled, const struct leat_component *component,
                       struct leat_error *err) {
    const struct leat_char_source source = {
        .function = find_char, .context = &precompiled->map, .is_kept = is_kept};
    struct leat_component child;
    const char *text;
    size_t n_bytes;
    int r = leat_component_string(component, "precompiled_charsmap", NULL, &text, &n_bytes, err);

    if (r < 0)
        return r;
    r = leat_charsmap_init(&precompiled->map, text, n_bytes, err);
    if (r == -EINVAL && leat_component_get(component, "precompiled_charsmap", &child))
        leat_component_place(&child, err);
    return r < 0 ? r : leat_char_table_init(&precompiled->table, &source);
}

static int load_precompiled(struct leat_normalize_step *step,
                            const struct leat_component *component, struct leat_error *err) {
    struct precompiled *precompiled = (struct precompiled *)step;
    int r = load_tables(precompiled, component, err);

    if (r < 0)
        return r;
    precompiled->table.ascii.blanks[2] = LEAT_ASCII_NONE; /* "\r\n" is one cluster */
    precompiled->table.maps_ascii &= keeps_line_end(&precompiled->map);
    precompiled->base.growth = leat_charsmap_longest(&precompiled->map) + 1;
    precompiled->base.n_bytes += 4 * (size_t)precompiled->map.n_units +
                                 precompiled->map.n_replacements + precompiled->table.n_bytes;
    return 0;
}

const struct leat_normalize_step_kind leat_normalize_step_precompiled = {
    "Precompiled",   sizeof(struct precompiled), load_precompiled,
    run_precompiled, deinit_precompiled,         0};
