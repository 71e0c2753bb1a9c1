/* edges.c: the steps that look at the ends of a text: Strip and Prepend; and ByteLevel.
 *
 * Strip rewrites nothing: its result is a part of the text.
 */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/tokenizer/byte_level.h"
#include "pipeline/tokenizer/normalize/step.h"
#include "pipeline/tokenizer/unicode/unicode.h"

struct strip {
    struct leat_normalize_step base;
    bool is_left, is_right;
};

struct prepend {
    struct leat_normalize_step base;
    uint32_t n_bytes;
    uint8_t *bytes;
};

struct byte_level {
    struct leat_normalize_step base;
    uint8_t characters[256][2]; /* of GPT-2's alphabet, in UTF-8 */
    uint8_t lengths[256];
};

/* Strip. */

static bool is_space(const uint8_t *bytes, uint32_t *ret_n_bytes) {
    return leat_unicode_classes(leat_unicode_decode(bytes, ret_n_bytes)) & LEAT_UNICODE_RUST_SPACE;
}

static int run_strip(const struct leat_normalize_step *step,
                     struct leat_normalize_step_memory *memory, struct leat_text_view *text,
                     struct leat_error *err) {
    const struct strip *strip = (const struct strip *)step;
    struct leat_range rest = {0, text->n_bytes};
    uint32_t n_bytes;

    (void)memory;
    (void)err;
    while (strip->is_left && rest.start < rest.end && is_space(text->bytes + rest.start, &n_bytes))
        rest.start += n_bytes;
    while (strip->is_right && rest.start < rest.end) {
        uint32_t at = rest.end - 1;

        while ((text->bytes[at] & 0xc0) == 0x80)
            at--;
        if (!is_space(text->bytes + at, &n_bytes))
            break;
        rest.end = at;
    }
    *text = leat_text_view_part(text, rest);
    return 0;
}

static int load_strip(struct leat_normalize_step *step, const struct leat_component *component,
                      struct leat_error *err) {
    struct strip *strip = (struct strip *)step;
    int r = leat_component_bool(component, "strip_left", -1, &strip->is_left, err);

    if (r == 0)
        r = leat_component_bool(component, "strip_right", -1, &strip->is_right, err);
    leat_normalize_step_describe(step, "Strip%s%s", strip->is_left ? " left" : "",
                                 strip->is_right ? " right" : "");
    return r;
}

/* Prepend. The new characters share the origin of the first one; nothing before an empty text. */

static int run_prepend(const struct leat_normalize_step *step,
                       struct leat_normalize_step_memory *memory, struct leat_text_view *text,
                       struct leat_error *err) {
    const struct prepend *prepend = (const struct prepend *)step;
    struct leat_writer writer;
    int r;

    (void)err;
    if (text->n_bytes == 0 || prepend->n_bytes == 0)
        return 0;
    leat_writer_begin(&writer, &memory->writer, text);
    r = leat_writer_replace(&writer, 0, prepend->bytes, prepend->n_bytes);
    if (r < 0)
        return r;
    leat_writer_keep(&writer, text->n_bytes);
    return leat_writer_end(&writer, text);
}

static void deinit_prepend(struct leat_normalize_step *step) {
    free(((struct prepend *)step)->bytes);
}

static int load_prepend(struct leat_normalize_step *step, const struct leat_component *component,
                        struct leat_error *err) {
    struct prepend *prepend = (struct prepend *)step;
    const char *bytes;
    size_t n_bytes;
    int r = leat_component_string(component, "prepend", NULL, &bytes, &n_bytes, err);

    if (r < 0)
        return r;
    prepend->bytes = malloc(n_bytes + 1);
    if (!prepend->bytes)
        return -ENOMEM;
    memcpy(prepend->bytes, bytes, n_bytes);
    prepend->n_bytes = (uint32_t)n_bytes;
    step->n_bytes += n_bytes;
    leat_normalize_step_describe(step, "Prepend \"%.64s\"", bytes);
    return 0;
}

/* ByteLevel. */

/* Each byte becomes one or two; without origins. */
static int run_bytes(const struct byte_level *byte_level, struct leat_normalize_step_memory *memory,
                     struct leat_text_view *text) {
    struct leat_writer writer;
    uint8_t *target;
    int r;

    leat_writer_begin(&writer, &memory->writer, text);
    r = leat_writer_flush(&writer, text->n_bytes);
    if (r < 0 || memory->writer.measures)
        return r;
    target = writer.target->bytes;
    for (uint32_t i = 0; i < text->n_bytes; i++) {
        memcpy(target, byte_level->characters[text->bytes[i]], 2);
        target += byte_level->lengths[text->bytes[i]];
    }
    writer.target->n_bytes = (uint32_t)(target - writer.target->bytes);
    *text = leat_text_buffer_view(writer.target, false);
    return 0;
}

static int run_byte_level(const struct leat_normalize_step *step,
                          struct leat_normalize_step_memory *memory, struct leat_text_view *text,
                          struct leat_error *err) {
    const struct byte_level *byte_level = (const struct byte_level *)step;
    struct leat_writer writer;
    int r = 0;

    (void)err;
    if (!text->origins)
        return run_bytes(byte_level, memory, text);
    leat_writer_begin(&writer, &memory->writer, text);
    for (uint32_t at = 0; at < text->n_bytes && r == 0; at++) {
        uint8_t byte = text->bytes[at];

        if (byte_level->lengths[byte] == 1)
            leat_writer_keep(&writer, 1);
        else
            r = leat_writer_replace(&writer, 1, byte_level->characters[byte], 2);
    }
    return r < 0 ? r : leat_writer_end(&writer, text);
}

static int load_byte_level(struct leat_normalize_step *step, const struct leat_component *component,
                           struct leat_error *err) {
    struct byte_level *byte_level = (struct byte_level *)step;

    (void)component;
    (void)err;
    for (uint32_t b = 0; b < 256; b++)
        byte_level->lengths[b] =
            (uint8_t)leat_byte_level_map((uint8_t)b, byte_level->characters[b]);
    return 0;
}

const struct leat_normalize_step_kind leat_normalize_step_strip = {
    "Strip", sizeof(struct strip), load_strip, run_strip, NULL, 0};
const struct leat_normalize_step_kind leat_normalize_step_prepend = {
    "Prepend", sizeof(struct prepend), load_prepend, run_prepend, deinit_prepend, 0};
const struct leat_normalize_step_kind leat_normalize_step_byte_level = {
    "ByteLevel", sizeof(struct byte_level), load_byte_level, run_byte_level, NULL, 0};
