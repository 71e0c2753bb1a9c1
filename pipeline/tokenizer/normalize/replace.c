/* replace.c: Replace: all matches of a string, or of a regular expression, become other bytes.
 *
 * The origin of the new characters is that of the last one that the match took, or, if it took
 * none, of the one before. A string of one byte is looked for 64 bytes at a time. A few regular
 * expressions that are runs of one kind of character have a search of their own; an empty string
 * matches between all characters.
 */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/tokenizer/normalize/ascii.h"
#include "pipeline/tokenizer/normalize/step.h"
#include "pipeline/tokenizer/split/regex.h"
#include "pipeline/tokenizer/unicode/unicode.h"

#define BLOCK 64

struct replace {
    struct leat_normalize_step base;
    struct leat_regex *regex; /* NULL: a string, or a run */
    uint8_t *pattern;
    uint32_t n_pattern;
    uint8_t *content; /* with BLOCK bytes of room */
    uint32_t n_content;
    uint32_t run_min;    /* above 0: runs of blanks, at least so many ... */
    bool is_any_space;   /* ... or of white space of any kind, */
    bool may_begin[256]; /* which begins with one of these bytes */
};

/* Finds the next match from `at` on; true: *ret_match. */
static bool find_string(const struct replace *replace, const struct leat_text_view *text,
                        uint32_t at, struct leat_range *ret_match) {
    const uint8_t *found;

    if (at > text->n_bytes)
        return false;
    found = memmem(text->bytes + at, text->n_bytes - at, replace->pattern, replace->n_pattern);
    if (!found)
        return false;
    ret_match->start = (uint32_t)(found - text->bytes);
    ret_match->end = ret_match->start + replace->n_pattern;
    return true;
}

static uint32_t measure_space(const struct replace *replace, const uint8_t *bytes) {
    uint32_t n_bytes;

    if (!replace->is_any_space || bytes[0] == ' ')
        return bytes[0] == ' ';
    return leat_unicode_classes(leat_unicode_decode(bytes, &n_bytes)) & LEAT_UNICODE_SPACE ? n_bytes
                                                                                           : 0;
}

/* The next place that a character which the run may hold could begin at. */
static uint32_t skip_others(const struct replace *replace, const struct leat_text_view *text,
                            uint32_t at) {
    while (at < text->n_bytes && !replace->may_begin[text->bytes[at]])
        at++;
    return at;
}

static bool find_run(const struct replace *replace, const struct leat_text_view *text, uint32_t at,
                     struct leat_range *ret_match) {
    for (at = skip_others(replace, text, at); at < text->n_bytes;
         at = skip_others(replace, text, at)) {
        uint32_t start = at, n_chars = 0, n;

        for (; at < text->n_bytes && (n = measure_space(replace, text->bytes + at)); n_chars++)
            at += n;
        if (n_chars >= replace->run_min) {
            *ret_match = (struct leat_range){start, at};
            return true;
        }
        if (n_chars == 0) {
            leat_unicode_decode(text->bytes + at, &n);
            at += n;
        }
    }
    return false;
}

static int put_match(struct leat_writer *writer, const struct replace *replace,
                     struct leat_range match) {
    uint32_t last = match.end;
    int r = 0;

    leat_writer_keep(writer, match.start - writer->at);
    if (!writer->source.origins && match.end - match.start == replace->n_content &&
        memcmp(writer->source.bytes + match.start, replace->content, replace->n_content) == 0) {
        leat_writer_keep(writer, replace->n_content);
        return 0;
    }
    if (match.start == match.end)
        return leat_writer_insert(writer, replace->content, replace->n_content);
    do
        last--;
    while ((writer->source.bytes[last] & 0xc0) == 0x80);
    if (last > match.start)
        r = leat_writer_skip(writer, last - match.start);
    return r < 0 ? r
                 : leat_writer_replace(writer, match.end - last, replace->content,
                                       replace->n_content);
}

static int replace_found(const struct replace *replace, struct leat_writer *writer,
                         const struct leat_text_view *text) {
    struct leat_range match;
    int r = 0;

    while (r == 0 && (replace->run_min ? find_run(replace, text, writer->at, &match)
                                       : find_string(replace, text, writer->at, &match)))
        r = put_match(writer, replace, match);
    return r;
}

static int replace_empty(const struct replace *replace, struct leat_writer *writer,
                         const struct leat_text_view *text) {
    int r = 0;

    for (uint32_t n_bytes; writer->at < text->n_bytes && r == 0;) {
        r = leat_writer_insert(writer, replace->content, replace->n_content);
        leat_unicode_decode(text->bytes + writer->at, &n_bytes);
        leat_writer_keep(writer, n_bytes);
    }
    return r < 0 || text->n_bytes == 0
               ? r
               : leat_writer_insert(writer, replace->content, replace->n_content);
}

static int replace_regex(const struct replace *replace, struct leat_normalize_step_memory *memory,
                         struct leat_writer *writer, const struct leat_text_view *text,
                         struct leat_error *err) {
    struct leat_regex_search search = {.text = text->bytes, .n_bytes = text->n_bytes};
    struct leat_range match;
    int r;

    if (text->n_bytes == 0)
        return 0;
    if (!memory->regex) {
        r = leat_regex_context_new(&memory->regex);
        if (r < 0)
            return r;
    }
    while ((r = leat_regex_next(replace->regex, memory->regex, &search, &match, err)) > 0) {
        r = put_match(writer, replace, match);
        if (r < 0)
            return r;
    }
    return r;
}

/* A byte becomes up to 16, without origins. */

static uint64_t mask_equal(const uint8_t *block, uint8_t byte) {
    return (uint64_t)leat_ascii_mask_equal(block, byte) |
           (uint64_t)leat_ascii_mask_equal(block + 16, byte) << 16 |
           (uint64_t)leat_ascii_mask_equal(block + 32, byte) << 32 |
           (uint64_t)leat_ascii_mask_equal(block + 48, byte) << 48;
}

static uint64_t mask_block(const struct leat_text_view *text, uint32_t at, uint8_t byte) {
    uint64_t mask = mask_equal(text->bytes + at, byte);

    return text->n_bytes - at < BLOCK ? mask & ((UINT64_C(1) << (text->n_bytes - at)) - 1) : mask;
}

static uint32_t count_byte(const struct leat_text_view *text, uint8_t byte) {
    uint32_t n = 0;

    for (uint32_t at = 0; at < text->n_bytes; at += BLOCK)
        n += (uint32_t)__builtin_popcountll(mask_block(text, at, byte));
    return n;
}

/* Copies in pieces of 16 bytes, so what it writes ends up to 16 bytes after the result. */
static uint8_t *rewrite_block(const struct replace *replace, const uint8_t *block, uint32_t n,
                              uint64_t mask, uint8_t *target) {
    uint32_t from = 0;

    for (;;) {
        uint32_t to = mask ? (uint32_t)__builtin_ctzll(mask) : n;

        for (uint32_t i = from; i < to; i += 16)
            memcpy(target + (i - from), block + i, 16);
        target += to - from;
        if (!mask)
            return target;
        memcpy(target, replace->content, 16);
        target += replace->n_content;
        from = to + 1;
        mask &= mask - 1;
    }
}

static int replace_byte(const struct replace *replace, struct leat_normalize_step_memory *memory,
                        struct leat_text_view *text) {
    uint32_t n = count_byte(text, replace->pattern[0]);
    struct leat_writer writer;
    uint8_t *target;
    int r;

    if (n == 0)
        return 0;
    leat_writer_begin(&writer, &memory->writer, text);
    r = leat_writer_flush(&writer, (size_t)n * replace->n_content);
    if (r < 0)
        return r;
    target = writer.target->bytes;
    for (uint32_t at = 0; at < text->n_bytes; at += BLOCK)
        target = rewrite_block(replace, text->bytes + at,
                               text->n_bytes - at < BLOCK ? text->n_bytes - at : BLOCK,
                               mask_block(text, at, replace->pattern[0]), target);
    writer.target->n_bytes = (uint32_t)(target - writer.target->bytes);
    *text = leat_text_buffer_view(writer.target, false);
    return 0;
}

static int run_replace(const struct leat_normalize_step *step,
                       struct leat_normalize_step_memory *memory, struct leat_text_view *text,
                       struct leat_error *err) {
    const struct replace *replace = (const struct replace *)step;
    struct leat_writer writer;
    int r;

    if (replace->n_pattern == 1 && replace->n_content <= 16 && !text->origins &&
        !replace->run_min && !replace->regex && !memory->writer.measures)
        return replace_byte(replace, memory, text);
    leat_writer_begin(&writer, &memory->writer, text);
    if (replace->regex)
        r = replace_regex(replace, memory, &writer, text, err);
    else if (replace->n_pattern == 0)
        r = replace_empty(replace, &writer, text);
    else
        r = replace_found(replace, &writer, text);
    if (r < 0)
        return r;
    leat_writer_keep(&writer, text->n_bytes - writer.at);
    return leat_writer_end(&writer, text);
}

/* Loading. */

static void deinit_replace(struct leat_normalize_step *step) {
    struct replace *replace = (struct replace *)step;

    leat_regex_free(replace->regex);
    free(replace->pattern);
    free(replace->content);
}

static int copy(const char *text, size_t n_bytes, uint8_t **ret_bytes, uint32_t *ret_n_bytes) {
    *ret_bytes = calloc(n_bytes + BLOCK, 1);
    if (!*ret_bytes)
        return -ENOMEM;
    memcpy(*ret_bytes, text, n_bytes);
    *ret_n_bytes = (uint32_t)n_bytes;
    return 0;
}

static const struct {
    const char *pattern;
    uint32_t run_min;
    bool is_any_space;
} runs[] = {{"\\s+", 1, true}, {" +", 1, false}, {" {2,}", 2, false}, {"\\s{2,}", 2, true}};

static void set_run(struct replace *replace, uint32_t run_min, bool is_any_space) {
    replace->run_min = run_min;
    replace->is_any_space = is_any_space;
    replace->may_begin[' '] = true;
    for (uint32_t c = 0; c <= LEAT_UNICODE_MAX && is_any_space; c++)
        if (leat_unicode_classes(c) & LEAT_UNICODE_SPACE) {
            uint8_t bytes[4];

            leat_unicode_encode(c, bytes);
            replace->may_begin[bytes[0]] = true;
        }
}

static int compile(struct replace *replace, const struct leat_component *pattern,
                   struct leat_error *err) {
    int r;

    for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++)
        if (strcmp((const char *)replace->pattern, runs[i].pattern) == 0 &&
            strlen(runs[i].pattern) == replace->n_pattern) {
            set_run(replace, runs[i].run_min, runs[i].is_any_space);
            return 0;
        }
    r = leat_regex_new((const char *)replace->pattern, replace->n_pattern, &replace->regex, err);
    if (r == -EINVAL)
        leat_component_place(pattern, err);
    if (r == 0)
        replace->base.n_bytes += leat_regex_n_bytes(replace->regex);
    return r;
}

static int load_replace(struct leat_normalize_step *step, const struct leat_component *component,
                        struct leat_error *err) {
    struct replace *replace = (struct replace *)step;
    struct leat_component pattern, regex;
    const char *text;
    size_t n_bytes;
    bool is_regex;
    int r;

    r = leat_component_child(component, "pattern", LEAT_JSON_OBJECT, &pattern, err);
    if (r < 0)
        return r;
    is_regex = leat_component_get(&pattern, "Regex", &regex);
    r = leat_component_string(&pattern, is_regex ? "Regex" : "String", NULL, &text, &n_bytes, err);
    if (r == 0)
        r = copy(text, n_bytes, &replace->pattern, &replace->n_pattern);
    if (r == 0)
        r = leat_component_string(component, "content", NULL, &text, &n_bytes, err);
    if (r == 0)
        r = copy(text, n_bytes, &replace->content, &replace->n_content);
    replace->base.growth = replace->n_content + 1;
    if (r == 0 && is_regex)
        r = compile(replace, &regex, err);
    if (r < 0)
        return r;
    leat_normalize_step_describe(&replace->base, "Replace %s\"%.48s\" with \"%.48s\"",
                                 is_regex ? "regex " : "", (const char *)replace->pattern,
                                 (const char *)replace->content);
    return 0;
}

const struct leat_normalize_step_kind leat_normalize_step_replace = {
    "Replace", sizeof(struct replace), load_replace, run_replace, deinit_replace, 0};
