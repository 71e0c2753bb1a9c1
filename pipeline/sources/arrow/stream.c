#include "pipeline/sources/arrow/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"

#define AHEAD_BYTES 4096U /* read ahead: most metadata is shorter */
#define GROW_BYTES  65536U
#define FILE_HEAD   8U /* the magic, padded */
#define FOOTER_TAIL (sizeof(int32_t) + LEAT_ARROW_MAGIC_BYTES)

void leat_arrow_stream_deinit(struct leat_arrow_stream *stream) {
    free(stream->bytes);
    free(stream->footer_bytes);
    *stream = (struct leat_arrow_stream){.bytes = NULL};
}

static int cut_short(struct leat_error *err) {
    return leat_error_set(err, -EBADMSG, "the file is truncated: it ends within a message");
}

/* ---- bytes ---- */

static int need_at(struct leat_arrow_stream *stream, size_t n_bytes, struct leat_error *err) {
    uint64_t n_left = stream->file_bytes > stream->at ? stream->file_bytes - stream->at : 0;
    size_t n = n_bytes > AHEAD_BYTES ? n_bytes : AHEAD_BYTES;
    int r;

    if (n_bytes > n_left)
        return LEAT_ARROW_END;
    if (n > n_left)
        n = (size_t)n_left;
    if (!leat_array_reserve(&stream->bytes, n, &stream->capacity))
        return leat_error_oom(err);
    r = leat_input_read_at(stream->file, stream->at, stream->bytes, n, err);
    stream->n_bytes = r == 0 ? n : 0;
    return r;
}

/* Reads n_bytes from `at` on. LEAT_ARROW_END: there are fewer. */
static int need(struct leat_arrow_stream *stream, size_t n_bytes, struct leat_error *err) {
    if (stream->can_seek)
        return n_bytes <= stream->n_bytes ? 0 : need_at(stream, n_bytes, err);
    while (stream->n_bytes < n_bytes) {
        size_t n_wanted = n_bytes - stream->n_bytes, n = 0;
        int r;

        if (n_wanted > stream->n_bytes + GROW_BYTES) /* the length may be damaged */
            n_wanted = stream->n_bytes + GROW_BYTES;
        if (!leat_array_reserve(&stream->bytes, stream->n_bytes + n_wanted, &stream->capacity))
            return leat_error_oom(err);
        r = leat_input_read(stream->file, stream->bytes + stream->n_bytes, n_wanted, &n, err);
        if (r == LEAT_INPUT_BOUNDARY)
            continue;
        if (r != 0)
            return r;
        if (n == 0)
            return LEAT_ARROW_END;
        stream->n_bytes += n;
    }
    return 0;
}

static void pass(struct leat_arrow_stream *stream, uint64_t n_bytes) {
    stream->at += n_bytes;
    stream->n_bytes = 0;
}

/* ---- what the file is ---- */

static int read_footer(struct leat_arrow_stream *stream, struct leat_error *err) {
    uint8_t tail[FOOTER_TAIL];
    uint32_t n_bytes;
    int r;

    if (stream->file_bytes < FILE_HEAD + FOOTER_TAIL)
        return 0;
    r = leat_input_read_at(stream->file, stream->file_bytes - FOOTER_TAIL, tail, FOOTER_TAIL, err);
    memcpy(&n_bytes, tail, sizeof(n_bytes));
    if (r < 0 || memcmp(tail + sizeof(n_bytes), LEAT_ARROW_MAGIC, LEAT_ARROW_MAGIC_BYTES) != 0)
        return r; /* the file is cut short: its messages are read in their order */
    if (n_bytes > LEAT_ARROW_METADATA_MAX || n_bytes > stream->file_bytes - FILE_HEAD - FOOTER_TAIL)
        return leat_error_set(err, -EBADMSG, "the footer is damaged: it has an impossible length");
    stream->footer_bytes = malloc(n_bytes + 1);
    if (!stream->footer_bytes)
        return leat_error_oom(err);
    r = leat_input_read_at(stream->file, stream->file_bytes - FOOTER_TAIL - n_bytes,
                           stream->footer_bytes, n_bytes, err);
    return r < 0 ? r : leat_arrow_footer_parse(stream->footer_bytes, n_bytes, &stream->footer, err);
}

static int no_arrow(const struct leat_arrow_stream *stream, struct leat_error *err) {
    const uint8_t *head = stream->bytes;

    if (memcmp(head, "PAR1", 4) == 0)
        return leat_error_set(err, -EBADMSG,
                              "is a Parquet file: read it with the source `parquet`");
    if (memcmp(head, "FEA1", 4) == 0)
        return leat_error_set(err, -EBADMSG,
                              "is a Feather file of version 1: write it again as version 2");
    return leat_error_set(
        err, -EBADMSG,
        "is not an Arrow file: an Arrow stream begins with ff ff ff ff, an Arrow file begins with "
        "\"ARROW1\", but this file begins with %02x %02x %02x %02x",
        head[0], head[1], head[2], head[3]);
}

int leat_arrow_stream_begin(struct leat_arrow_stream *stream, struct leat_error *err) {
    uint32_t head;
    int r;

    if (stream->is_begun)
        return 0;
    if (!stream->can_seek) {
        uint64_t nowhere = 0;

        r = leat_input_seek(stream->file, &nowhere, err); /* detects pipes and compression */
        if (r != 0)
            return r;
        stream->can_seek =
            !leat_input_is_one_pass(stream->file) && !leat_input_format(stream->file);
        stream->file_bytes = leat_input_file_bytes(stream->file);
    }
    r = need(stream, FILE_HEAD, err);
    if (r == LEAT_ARROW_END)
        return leat_error_set(err, -EBADMSG, "is not an Arrow file: it has fewer than %u bytes",
                              FILE_HEAD);
    if (r != 0)
        return r;
    memcpy(&head, stream->bytes, sizeof(head));
    if (memcmp(stream->bytes, LEAT_ARROW_MAGIC, LEAT_ARROW_MAGIC_BYTES) == 0) {
        pass(stream, FILE_HEAD);
        r = stream->can_seek ? read_footer(stream, err) : 0;
    } else if (head != LEAT_ARROW_CONTINUATION && (head == 0 || head > LEAT_ARROW_METADATA_MAX)) {
        return no_arrow(stream, err);
    }
    stream->is_begun = r == 0;
    return r;
}

/* ---- messages ---- */

static int parse(struct leat_arrow_stream *stream, size_t n_prefix, uint32_t n_metadata,
                 struct leat_error *err) {
    return leat_arrow_message_parse(stream->bytes + n_prefix, n_metadata, &stream->message, err);
}

/* Reads the body into memory as well. */
static int need_body(struct leat_arrow_stream *stream, size_t n_prefix, uint32_t n_metadata,
                     struct leat_error *err) {
    uint64_t n_body = stream->message.body_bytes;
    int r;

    if (n_body > stream->max_memory)
        return leat_error_set(err, -EBADMSG,
                              "a batch has %llu bytes, more than max_window_bytes (%llu). A pipe "
                              "or compressed file can be read only once, so each batch must fit "
                              "within this limit: raise max_window_bytes, or write smaller batches",
                              (unsigned long long)n_body, (unsigned long long)stream->max_memory);
    r = need(stream, n_prefix + n_metadata + (size_t)n_body, err);
    if (r == 0)
        r = parse(stream, n_prefix, n_metadata, err); /* the metadata may have been moved */
    stream->body = stream->bytes + n_prefix + n_metadata;
    return r;
}

static int read_message(struct leat_arrow_stream *stream, size_t n_prefix, uint32_t n_metadata,
                        struct leat_error *err) {
    int r;

    if (n_metadata > LEAT_ARROW_METADATA_MAX)
        return leat_error_set(err, -EBADMSG,
                              "a message has %u bytes of metadata, more than %u: the file is "
                              "damaged, or not an Arrow file",
                              n_metadata, LEAT_ARROW_METADATA_MAX);
    r = need(stream, n_prefix + n_metadata, err);
    if (r == 0)
        r = parse(stream, n_prefix, n_metadata, err);
    if (r != 0)
        return r;
    stream->message_at = stream->at;
    stream->body_at = stream->at + n_prefix + n_metadata;
    stream->body = NULL;
    if (!stream->can_seek)
        r = need_body(stream, n_prefix, n_metadata, err);
    else if (stream->body_at > stream->file_bytes ||
             stream->message.body_bytes > stream->file_bytes - stream->body_at)
        r = cut_short(err);
    return r;
}

static int next(struct leat_arrow_stream *stream, struct leat_error *err) {
    uint32_t head, n_metadata;
    size_t n_prefix = sizeof(head);
    int r = need(stream, sizeof(head), err);

    if (r == LEAT_ARROW_END)
        return r; /* some writers omit the end marker, or are cut off within it */
    if (r != 0)
        return r;
    memcpy(&head, stream->bytes, sizeof(head));
    n_metadata = head;
    if (head == LEAT_ARROW_CONTINUATION) {
        n_prefix += sizeof(n_metadata);
        r = need(stream, n_prefix, err);
        if (r != 0)
            return r == LEAT_ARROW_END ? cut_short(err) : r;
        memcpy(&n_metadata, stream->bytes + sizeof(head), sizeof(n_metadata));
    }
    if (n_metadata == 0)
        return LEAT_ARROW_END;
    r = read_message(stream, n_prefix, n_metadata, err);
    if (r == LEAT_ARROW_END)
        return cut_short(err);
    if (r == 0) {
        stream->at = stream->body_at + stream->message.body_bytes;
        stream->n_bytes = 0;
    }
    return r;
}

int leat_arrow_stream_next(struct leat_arrow_stream *stream, struct leat_error *err) {
    int r = next(stream, err);

    if (r != 0)
        stream->message.header = 0; /* its bytes may be freed */
    return r;
}

int leat_arrow_stream_next_at(struct leat_arrow_stream *stream, uint64_t at,
                              struct leat_error *err) {
    stream->at = at;
    stream->n_bytes = 0;
    return leat_arrow_stream_next(stream, err);
}
