/* precompiled.c: Precompiled: SentencePiece's rules, applied as Hugging Face does it.
 *
 * A grapheme cluster of less than 6 bytes is looked up as a whole, and if an entry is a prefix of
 * it, all of it is replaced; else each of its characters is looked up, or stays. Replacements are
 * looked up once more never. Where neither of two neighbours joins others, as in plain ASCII that
 * the map leaves alone, there is nothing to do.
 *
 * Origins: the characters of a replacement take the places of those replaced; what is more is new,
 * and what is less vanishes behind the last character before, whichever that is. At the very start
 * there is none, and the places stay behind the characters from there on.
 */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/tokenizer/normalize/ascii.h"
#include "pipeline/tokenizer/normalize/charsmap.h"
#include "pipeline/tokenizer/normalize/step.h"
#include "pipeline/tokenizer/unicode/grapheme.h"
#include "pipeline/tokenizer/unicode/unicode.h"

#define CLUSTER_BYTES_MAX 5

struct precompiled {
    struct leat_step base;
    struct leat_charsmap map;
    bool is_plain_kept; /* ' ' to '~' stay as they are */
};

/* A rewriting under way. The last character waits for what may vanish behind it. */
struct run {
    const struct precompiled *precompiled;
    struct leat_writer writer;
    uint32_t last;
    int32_t last_change;
    bool has_last;
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

static int replace(struct run *run, const uint8_t *source, uint32_t n_source, const uint8_t *bytes,
                   uint32_t n_bytes) {
    if (run->writer.source.origins)
        return put_replacement(run, count_chars(source, n_source), bytes, n_bytes);
    return leat_writer_replace(&run->writer, n_source, bytes, n_bytes);
}

static int keep(struct run *run, const uint8_t *source, uint32_t n_source) {
    uint32_t n_bytes;

    if (run->writer.source.origins)
        return put(run, leat_unicode_decode(source, &n_bytes), 0);
    leat_writer_keep(&run->writer, n_source);
    return 0;
}

static int run_cluster(struct run *run, const uint8_t *source, uint32_t n_source) {
    const struct leat_charsmap *map = &run->precompiled->map;
    const uint8_t *to = NULL;
    uint32_t n_to;
    int r = 0;

    if (n_source <= CLUSTER_BYTES_MAX)
        to = leat_charsmap_find(map, source, n_source, &n_to);
    if (to)
        return replace(run, source, n_source, to, n_to);
    for (uint32_t at = 0, n_char; at < n_source && r == 0; at += n_char) {
        leat_unicode_decode(source + at, &n_char);
        to = leat_charsmap_find(map, source + at, n_char, &n_to);
        r = to ? replace(run, source + at, n_char, to, n_to) : keep(run, source + at, n_char);
    }
    return r;
}

/* How many bytes from `at` on are plain and stay, whatever comes behind them. */
static uint32_t measure_plain(const struct run *run, const struct leat_text *text, uint32_t at) {
    uint32_t end;

    if (!run->precompiled->is_plain_kept || text->origins)
        return 0;
    end = leat_ascii_find_special(text->bytes, at, text->n_bytes, false);
    /* A character beyond ASCII may belong to the one before it. */
    if (end < text->n_bytes && end > at && text->bytes[end] >= 0x80)
        end--;
    return end - at;
}

static int run_precompiled(const struct leat_step *step, struct leat_step_memory *memory,
                           struct leat_text *text, struct leat_error *err) {
    struct run run = {.precompiled = (const struct precompiled *)step};
    int r = 0;

    (void)err;
    leat_writer_begin(&run.writer, &memory->writer, text);
    for (uint32_t at = 0, n; at < text->n_bytes && r == 0; at += n) {
        n = measure_plain(&run, text, at);
        if (n > 0) {
            leat_writer_keep(&run.writer, n);
            continue;
        }
        n = (uint32_t)leat_grapheme_length(text->bytes + at, text->n_bytes - at);
        r = run_cluster(&run, text->bytes + at, n);
    }
    if (r == 0 && run.has_last)
        r = leat_writer_put(&run.writer, run.last, run.last_change);
    return r < 0 ? r : leat_writer_end(&run.writer, text);
}

static void free_precompiled(struct leat_step *step) {
    leat_charsmap_deinit(&((struct precompiled *)step)->map);
    free(step);
}

static bool is_plain_kept(const struct leat_charsmap *map) {
    uint32_t n;

    for (uint8_t c = ' '; leat_ascii_is_plain(c); c++)
        if (leat_charsmap_find(map, &c, 1, &n))
            return false;
    return true;
}

static int load_precompiled(const struct leat_component *component, struct leat_step **ret_step,
                            struct leat_error *err) {
    struct leat_component child;
    struct precompiled *precompiled;
    const char *text;
    size_t n_bytes;
    int r;

    r = leat_component_string(component, "precompiled_charsmap", NULL, &text, &n_bytes, err);
    if (r < 0)
        return r;
    precompiled = leat_step_allocate(sizeof(*precompiled));
    if (!precompiled)
        return -ENOMEM;
    r = leat_charsmap_init(&precompiled->map, text, n_bytes, err);
    if (r < 0) {
        free_precompiled(&precompiled->base);
        if (r == -EINVAL && leat_component_get(component, "precompiled_charsmap", &child))
            leat_component_place(&child, err);
        return r;
    }
    precompiled->is_plain_kept = is_plain_kept(&precompiled->map);
    precompiled->base.n_bytes +=
        4 * (size_t)precompiled->map.n_units + precompiled->map.n_replacements;
    *ret_step = &precompiled->base;
    return 0;
}

const struct leat_step_kind leat_step_precompiled = {"Precompiled", load_precompiled,
                                                     free_precompiled, run_precompiled};
