/* text.c: buffers that grow, and writers. See text.h. */
#include "pipeline/tokenizer/text.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/tokenizer/unicode/unicode.h"

void leat_text_buffer_deinit(struct leat_text_buffer *buffer) {
    free(buffer->bytes);
    free(buffer->origins);
    *buffer = (struct leat_text_buffer){0};
}

static int grow_bytes(struct leat_text_buffer *buffer, uint32_t capacity) {
    uint8_t *bytes = realloc(buffer->bytes, (size_t)capacity + LEAT_TEXT_PADDING);

    if (!bytes)
        return -ENOMEM;
    memset(bytes + buffer->n_bytes, 0, (size_t)capacity + LEAT_TEXT_PADDING - buffer->n_bytes);
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return 0;
}

static int grow_origins(struct leat_text_buffer *buffer, uint32_t capacity) {
    struct leat_range *origins = realloc(buffer->origins, (size_t)capacity * sizeof(*origins));

    if (!origins)
        return -ENOMEM;
    buffer->origins = origins;
    buffer->origins_capacity = capacity;
    return 0;
}

int leat_text_buffer_reserve(struct leat_text_buffer *buffer, size_t n_more, bool wants_origins) {
    size_t need = buffer->n_bytes + n_more;
    size_t half_more;
    int r = 0;

    if (need > LEAT_TEXT_BYTES_MAX)
        return -E2BIG;
    half_more = buffer->capacity + (size_t)buffer->capacity / 2;
    if (half_more > LEAT_TEXT_BYTES_MAX)
        half_more = LEAT_TEXT_BYTES_MAX;
    if (!buffer->bytes || need > buffer->capacity)
        r = grow_bytes(buffer, (uint32_t)(need > half_more ? need + 256 : half_more));
    if (r == 0 && wants_origins && need > buffer->origins_capacity)
        r = grow_origins(buffer, buffer->capacity);
    return r;
}

struct leat_text_view leat_text_buffer_view(const struct leat_text_buffer *buffer,
                                            bool has_origins) {
    return (struct leat_text_view){.bytes = buffer->bytes,
                                   .origins = has_origins ? buffer->origins : NULL,
                                   .n_bytes = buffer->n_bytes};
}

/* ---- writers */

void leat_writer_memory_deinit(struct leat_writer_memory *memory) {
    leat_text_buffer_deinit(&memory->buffers[0]);
    leat_text_buffer_deinit(&memory->buffers[1]);
}

void leat_writer_begin(struct leat_writer *writer, struct leat_writer_memory *memory,
                       const struct leat_text_view *source) {
    const struct leat_text_buffer *first = &memory->buffers[0];
    uintptr_t at = (uintptr_t)source->bytes, start = (uintptr_t)first->bytes;
    bool is_first = first->bytes && at >= start && at <= start + first->capacity;

    *writer = (struct leat_writer){.source = *source,
                                   .memory = memory,
                                   .target = &memory->buffers[is_first ? 1 : 0],
                                   .start = memory->start};
    writer->target->n_bytes = 0;
    if (memory->measures)
        memory->n_measured = 0;
}

/* Counts and drops the bytes that stay and those written since the last flush. */
static int measure_flush(struct leat_writer *writer, size_t n_more) {
    size_t *n_measured = &writer->memory->n_measured;

    *n_measured += writer->at - writer->kept + (size_t)writer->target->n_bytes;
    writer->kept = writer->at;
    writer->target->n_bytes = 0;
    writer->has_changed = true;
    if (*n_measured > LEAT_TEXT_BYTES_MAX)
        return -E2BIG;
    return leat_text_buffer_reserve(writer->target, n_more, writer->source.origins != NULL);
}

/* The known lower bound for the size of the result. */
static size_t expected(const struct leat_writer *writer, size_t n_more) {
    size_t n = writer->source.n_bytes + n_more;

    return n > writer->memory->n_measured ? n : writer->memory->n_measured;
}

int leat_writer_flush(struct leat_writer *writer, size_t n_more) {
    const struct leat_text_view *source = &writer->source;
    struct leat_text_buffer *target = writer->target;
    uint32_t n = writer->at - writer->kept;
    int r;

    if (writer->memory->measures)
        return measure_flush(writer, n_more);
    r = leat_text_buffer_reserve(target,
                                 writer->has_changed ? n + n_more : expected(writer, n_more),
                                 source->origins != NULL);
    if (r < 0)
        return r;
    memcpy(target->bytes + target->n_bytes, source->bytes + writer->kept, n);
    if (source->origins)
        memcpy(target->origins + target->n_bytes, source->origins + writer->kept,
               n * sizeof(*source->origins));
    target->n_bytes += n;
    writer->kept = writer->at;
    writer->has_changed = true;
    return 0;
}

static int put(struct leat_writer *writer, const void *bytes, uint32_t n_bytes,
               struct leat_range origin) {
    struct leat_text_buffer *target = writer->target;
    int r = leat_writer_flush(writer, writer->memory->measures ? 0 : n_bytes);

    if (r < 0)
        return r;
    if (writer->memory->measures) {
        writer->memory->n_measured += n_bytes;
        return 0;
    }
    memcpy(target->bytes + target->n_bytes, bytes, n_bytes);
    if (writer->source.origins)
        for (uint32_t i = 0; i < n_bytes; i++)
            target->origins[target->n_bytes + i] = origin;
    target->n_bytes += n_bytes;
    return 0;
}

static struct leat_range origin_of(const struct leat_writer *writer, uint32_t at) {
    if (!writer->source.origins || at >= writer->source.n_bytes)
        return (struct leat_range){writer->start, writer->start};
    return writer->source.origins[at];
}

int leat_writer_skip(struct leat_writer *writer, uint32_t n_bytes) {
    int r = leat_writer_flush(writer, 0);

    writer->at += n_bytes;
    writer->kept = writer->at;
    return r;
}

int leat_writer_insert(struct leat_writer *writer, const void *bytes, uint32_t n_bytes) {
    return put(writer, bytes, n_bytes, origin_of(writer, writer->at - 1));
}

int leat_writer_replace(struct leat_writer *writer, uint32_t n_source, const void *bytes,
                        uint32_t n_bytes) {
    int r = put(writer, bytes, n_bytes, origin_of(writer, writer->at));

    writer->at += n_source;
    writer->kept = writer->at;
    return r;
}

/* Bytes of the next n characters of the source, as far as it goes. */
static uint32_t n_bytes_of(const struct leat_writer *writer, uint32_t at, uint32_t n) {
    uint32_t start = at, n_bytes;

    for (; n > 0 && at < writer->source.n_bytes; n--) {
        leat_unicode_decode(writer->source.bytes + at, &n_bytes);
        at += n_bytes;
    }
    return at - start;
}

int leat_writer_put(struct leat_writer *writer, uint32_t code_point, int32_t change) {
    uint32_t at = writer->at, n, n_next;
    uint8_t bytes[4];
    int r = 0;

    n = leat_unicode_encode(code_point, bytes);
    if (change > 0)
        return leat_writer_insert(writer, bytes, n);
    n_next = n_bytes_of(writer, at, 1);
    if (n_next == n && memcmp(writer->source.bytes + at, bytes, n) == 0)
        leat_writer_keep(writer, n);
    else
        r = leat_writer_replace(writer, n_next, bytes, n);
    if (change == 0 || r < 0)
        return r;
    return leat_writer_skip(writer, n_bytes_of(writer, writer->at, (uint32_t)-change));
}

int leat_writer_end(struct leat_writer *writer, struct leat_text_view *text) {
    int r = 0;

    if (!writer->has_changed && writer->at == writer->source.n_bytes)
        return 0;
    r = leat_writer_flush(writer, 0);
    if (!writer->memory->measures)
        *text = leat_text_buffer_view(writer->target, writer->source.origins != NULL);
    return r;
}
