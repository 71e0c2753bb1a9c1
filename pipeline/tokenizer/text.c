/* text.c: buffers that grow, and the four steps of a rewriting. See text.h. */
#include "pipeline/tokenizer/text.h"

#include <errno.h>
#include <stdlib.h>

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

int leat_rewrite_begin(struct leat_rewrite *rewrite, const struct leat_text_view *source,
                       struct leat_text_buffer *target) {
    *rewrite = (struct leat_rewrite){.source = source, .target = target};
    target->n_bytes = 0;
    return leat_text_buffer_reserve(target, source->n_bytes, source->origins != NULL);
}

static int reserve(struct leat_rewrite *rewrite, uint32_t n_bytes) {
    struct leat_text_buffer *target = rewrite->target;

    if (n_bytes <= target->capacity - target->n_bytes &&
        (!rewrite->source->origins || n_bytes <= target->origins_capacity - target->n_bytes))
        return 0;
    return leat_text_buffer_reserve(target, n_bytes, rewrite->source->origins != NULL);
}

int leat_rewrite_keep(struct leat_rewrite *rewrite, uint32_t n_source) {
    const struct leat_text_view *source = rewrite->source;
    struct leat_text_buffer *target = rewrite->target;
    int r = reserve(rewrite, n_source);

    if (r < 0)
        return r;
    memcpy(target->bytes + target->n_bytes, source->bytes + rewrite->at, n_source);
    if (source->origins)
        memcpy(target->origins + target->n_bytes, source->origins + rewrite->at,
               n_source * sizeof(*source->origins));
    target->n_bytes += n_source;
    rewrite->at += n_source;
    return 0;
}

static int put(struct leat_rewrite *rewrite, const void *bytes, uint32_t n_bytes,
               struct leat_range origin) {
    struct leat_text_buffer *target = rewrite->target;
    int r = reserve(rewrite, n_bytes);

    if (r < 0)
        return r;
    memcpy(target->bytes + target->n_bytes, bytes, n_bytes);
    if (rewrite->source->origins)
        for (uint32_t i = 0; i < n_bytes; i++)
            target->origins[target->n_bytes + i] = origin;
    target->n_bytes += n_bytes;
    return 0;
}

static struct leat_range origin_of(const struct leat_text_view *source, uint32_t at) {
    return source->origins && at < source->n_bytes ? source->origins[at] : (struct leat_range){0};
}

int leat_rewrite_replace(struct leat_rewrite *rewrite, uint32_t n_source, const void *bytes,
                         uint32_t n_bytes) {
    int r = put(rewrite, bytes, n_bytes, origin_of(rewrite->source, rewrite->at));

    if (r == 0)
        rewrite->at += n_source;
    return r;
}

int leat_rewrite_insert(struct leat_rewrite *rewrite, const void *bytes, uint32_t n_bytes) {
    struct leat_range origin = {0};

    if (rewrite->at > 0)
        origin = origin_of(rewrite->source, rewrite->at - 1);
    return put(rewrite, bytes, n_bytes, origin);
}

int leat_rewrite_prepend(struct leat_rewrite *rewrite, const void *bytes, uint32_t n_bytes) {
    return put(rewrite, bytes, n_bytes, origin_of(rewrite->source, rewrite->at));
}

struct leat_text_view leat_rewrite_end(const struct leat_rewrite *rewrite) {
    return leat_text_buffer_view(rewrite->target, rewrite->source->origins != NULL);
}
