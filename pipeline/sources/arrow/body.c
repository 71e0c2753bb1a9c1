#include "pipeline/sources/arrow/body.h"

#include <errno.h>
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#define LENGTH_BYTES 8          /* of the uncompressed length in front of a buffer */
#define SLACK        64         /* bytes that may be read behind a buffer */
#define KEEP_BYTES   (1U << 20) /* more memory than this is freed with the batch */

void leat_arrow_bytes_deinit(struct leat_arrow_bytes *bytes) {
    free(bytes->memory);
    *bytes = (struct leat_arrow_bytes){.memory = NULL};
}

static int grow(struct leat_arrow_bytes *bytes, uint64_t capacity, struct leat_error *err) {
    if (capacity + SLACK <= bytes->capacity)
        return 0;
    free(bytes->memory);
    bytes->memory = malloc((size_t)capacity + SLACK);
    bytes->capacity = bytes->memory ? (size_t)capacity + SLACK : 0;
    bytes->window_bytes = 0;
    return bytes->memory ? 0 : leat_error_oom(err);
}

/* ---- compressed ---- */

/* -EBADMSG: the data is damaged, or has another size. */
static int expand_lz4(const uint8_t *from, size_t n_from, uint8_t *to, size_t n_to) {
    LZ4F_dctx *context;
    size_t r = 1;

    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
        return -ENOMEM;
    while (r != 0 && !LZ4F_isError(r)) {
        size_t n_in = n_from, n_out = n_to;

        r = LZ4F_decompress(context, to, &n_out, from, &n_in, NULL);
        from += n_in;
        n_from -= n_in;
        to += n_out;
        n_to -= n_out;
        if (n_in == 0 && n_out == 0)
            break;
    }
    (void)LZ4F_freeDecompressionContext(context);
    if (LZ4F_isError(r) && strcmp(LZ4F_getErrorName(r), "ERROR_allocation_failed") == 0)
        return -ENOMEM;
    return r == 0 && n_to == 0 ? 0 : -EBADMSG;
}

static int expand_zstd(const uint8_t *from, size_t n_from, uint8_t *to, size_t n_to) {
    size_t n = ZSTD_decompress(to, n_to, from, n_from);

    if (ZSTD_isError(n) && ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
        return -ENOMEM;
    return !ZSTD_isError(n) && n == n_to ? 0 : -EBADMSG;
}

/* Gets the buffer as it is stored; the caller frees *ret_copy. */
static int get_stored(const struct leat_arrow_body *body, uint64_t at, uint64_t n_bytes,
                      const uint8_t **ret_data, uint8_t **ret_copy, struct leat_error *err) {
    *ret_copy = NULL;
    if (body->whole) {
        *ret_data = body->whole + at;
        return 0;
    }
    *ret_data = *ret_copy = malloc((size_t)n_bytes);
    if (!*ret_copy)
        return leat_error_oom(err);
    return leat_input_read_at(body->file, body->at + at, *ret_copy, (size_t)n_bytes, err);
}

static int too_much(const struct leat_arrow_body *body, uint64_t n_bytes, struct leat_error *err) {
    return leat_error_set(
        err, -EBADMSG,
        "its compressed columns need at least %llu bytes of memory, more than max_window_bytes "
        "(%llu): raise max_window_bytes, or write smaller batches",
        (unsigned long long)n_bytes, (unsigned long long)body->max_memory);
}

static int expand(struct leat_arrow_bytes *bytes, struct leat_arrow_body *body,
                  const uint8_t *stored, uint64_t n_stored, struct leat_error *err) {
    int64_t length;
    uint64_t n_bytes;
    int r;

    memcpy(&length, stored, sizeof(length));
    stored += LENGTH_BYTES;
    n_stored -= LENGTH_BYTES;
    if (length < -1)
        return leat_error_set(err, -EBADMSG, "a compressed buffer has an impossible length");
    n_bytes = length == -1 ? n_stored : (uint64_t)length;
    if (n_bytes > body->max_memory - body->n_memory)
        return too_much(body, body->n_memory + n_bytes, err);
    r = grow(bytes, n_bytes, err);
    if (r < 0)
        return r;
    body->n_memory += n_bytes;
    if (length == -1)
        memcpy(bytes->memory, stored, n_stored);
    else if (body->codec == LEAT_ARROW_LZ4)
        r = expand_lz4(stored, n_stored, bytes->memory, n_bytes);
    else
        r = expand_zstd(stored, n_stored, bytes->memory, n_bytes);
    if (r == -EBADMSG)
        return leat_error_set(err, r,
                              "a buffer does not contain the expected %s with %llu bytes of data",
                              body->codec == LEAT_ARROW_LZ4 ? "LZ4 frame" : "zstd frame",
                              (unsigned long long)n_bytes);
    if (r < 0)
        return leat_error_oom(err);
    bytes->is_decompressed = true;
    bytes->n_bytes = n_bytes;
    return 0;
}

static int decompress(struct leat_arrow_bytes *bytes, struct leat_arrow_body *body,
                      struct leat_error *err) {
    uint64_t n_stored = bytes->n_bytes;
    const uint8_t *stored;
    uint8_t *copy = NULL;
    int r;

    if (n_stored == 0)
        return 0;
    if (n_stored < LENGTH_BYTES)
        return leat_error_set(err, -EBADMSG,
                              "a compressed buffer is too short to contain its length");
    if (n_stored > body->max_memory)
        return too_much(body, n_stored, err);
    r = get_stored(body, bytes->at, n_stored, &stored, &copy, err);
    if (r == 0)
        r = expand(bytes, body, stored, n_stored, err);
    free(copy);
    return r;
}

/* ---- */

int leat_arrow_bytes_set(struct leat_arrow_bytes *bytes, struct leat_arrow_body *body, uint64_t at,
                         uint64_t n_bytes, struct leat_error *err) {
    int r = 0;

    if (bytes->capacity > KEEP_BYTES)
        leat_arrow_bytes_deinit(bytes);
    bytes->at = at;
    bytes->n_bytes = n_bytes;
    bytes->window_bytes = 0;
    bytes->is_decompressed = false;
    if (body->codec != LEAT_ARROW_RAW)
        r = decompress(bytes, body, err);
    if (r < 0)
        bytes->n_bytes = 0;
    return r;
}

int leat_arrow_bytes_get(struct leat_arrow_bytes *bytes, const struct leat_arrow_body *body,
                         uint64_t from, uint64_t n, const uint8_t **ret_data,
                         struct leat_error *err) {
    uint64_t n_wanted = n > body->window_bytes ? n : body->window_bytes;
    int r;

    if (from > bytes->n_bytes || n > bytes->n_bytes - from)
        return leat_error_set(
            err, -EBADMSG,
            "a buffer has only %llu bytes, but leat needs %llu bytes from byte %llu on",
            (unsigned long long)bytes->n_bytes, (unsigned long long)n, (unsigned long long)from);
    if (bytes->is_decompressed || body->whole) {
        *ret_data = (bytes->is_decompressed ? bytes->memory : body->whole + bytes->at) + from;
        return 0;
    }
    if (from < bytes->window_at || n > bytes->window_bytes ||
        from - bytes->window_at > bytes->window_bytes - n) {
        if (n_wanted > bytes->n_bytes - from)
            n_wanted = bytes->n_bytes - from;
        r = grow(bytes, n_wanted, err);
        if (r == 0)
            r = leat_input_read_at(body->file, body->at + bytes->at + from, bytes->memory,
                                   (size_t)n_wanted, err);
        bytes->window_at = from;
        bytes->window_bytes = r == 0 ? n_wanted : 0;
        if (r < 0)
            return r;
    }
    *ret_data = bytes->memory + (from - bytes->window_at);
    return 0;
}
