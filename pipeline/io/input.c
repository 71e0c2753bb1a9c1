/* input.c: see input.h.
 *
 * A compressed file is decoded in steps of LEAT_INPUT_STEP: straight into the caller's memory where
 * there is room for a step, else into `spare`. A step sees the file in pieces of LEAT_INPUT_STEP
 * from the start of the frame, so that steps are the same whoever began to read where.
 */
#include "pipeline/io/input.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/io/input_internal.h"
#include "proto/base/elsewhere.h"

#define IN_BYTES  (2 * LEAT_INPUT_STEP) /* the piece of a step, and the head of what follows */
#define WAIT_MS   20                    /* for a FIFO that has nothing */
#define FIFO_HEAD 16                    /* bytes that suffice to tell its compression */

/* ---- the file ---- */

static int check_type(struct leat_input *input, const char *path, struct leat_error *err) {
    struct stat info;

    if (fstat(input->fd, &info) < 0)
        return leat_error_set(err, -errno, "%s: %s", path, strerror(errno));
    input->device = info.st_dev;
    input->inode = info.st_ino;
    input->is_one_pass = !S_ISREG(info.st_mode);
    input->file_bytes = input->is_one_pass || info.st_size < 0 ? 0 : (uint64_t)info.st_size;
    if (!input->is_one_pass)
        (void)posix_fadvise(input->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    else if (flock(input->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return leat_error_set(
            err, -EBUSY, "%s: another stream is reading this FIFO, which can be read only once",
            path);
    return 0;
}

static int open_object(struct leat_input *input, const struct leat_opener *opener, const char *url,
                       struct leat_error *err) {
    struct leat_file_state state;
    int r = leat_object_open(opener, url, &input->object, err);

    if (r < 0)
        return r;
    leat_object_state(input->object, &state);
    input->device = state.device;
    input->inode = state.inode ^ (ino_t)state.modified_ns;
    input->file_bytes = state.n_bytes;
    return 0;
}

static int open_path(struct leat_input *input, const struct leat_opener *opener, const char *path,
                     struct leat_error *err) {
    input->fd = opener->open_stream ? opener->open_stream(opener, path, err)
                                    : opener->open_file(opener, path, err);
    return input->fd < 0 ? input->fd : check_type(input, path, err);
}

int leat_input_open(const struct leat_opener *opener, const char *path,
                    const struct leat_input_limits *limits, struct leat_input **ret_input,
                    struct leat_error *err) {
    struct leat_input *input = calloc(1, sizeof(*input));
    int r;

    if (!input)
        return leat_error_oom(err);
    input->limits = *limits;
    input->fd = -1;
    r = leat_elsewhere_is_object(path) ? open_object(input, opener, path, err)
                                       : open_path(input, opener, path, err);
    if (r < 0) {
        leat_input_close(input);
        return r;
    }
    *ret_input = input;
    return 0;
}

struct leat_input *leat_input_close(struct leat_input *input) {
    if (!input)
        return NULL;
    if (input->reader)
        input->reader_ops->free(input->reader);
    leat_input_close(input->file);
    leat_object_close(input->object);
    if (input->state)
        input->codec->stop(input->state);
    if (input->fd >= 0)
        (void)close(input->fd);
    free(input->in.data);
    free(input->spare.data);
    free(input->head.data);
    free(input);
    return NULL;
}

/* Waits a little for a FIFO. Before its first writer came, poll() says nothing, and read() would
 * report its end. */
static ssize_t read_fifo(struct leat_input *input, void *data, size_t size) {
    struct pollfd watch = {.fd = input->fd, .events = POLLIN};
    int r = poll(&watch, 1, WAIT_MS);

    if (r > 0)
        return read(input->fd, data, size);
    errno = r == 0 ? EAGAIN : errno;
    return -1;
}

int leat_input_read_file(struct leat_input *input, void *data, size_t size, uint64_t offset,
                         size_t *ret_n, struct leat_error *err) {
    ssize_t n;

    if (input->object)
        return leat_object_read(input->object, data, size, offset, ret_n, err);
    do {
        n = input->is_one_pass ? read_fifo(input, data, size)
                               : pread(input->fd, data, size, (off_t)offset);
    } while (n < 0 && errno == EINTR);
    *ret_n = n > 0 ? (size_t)n : 0;
    if (n < 0 && input->is_one_pass && errno == EAGAIN)
        return LEAT_INPUT_WAITING;
    if (n < 0)
        return leat_error_set(err, -errno, "cannot read the file at byte %llu: %s",
                              (unsigned long long)offset, strerror(errno));
    return 0;
}

/* Brings at least n_wanted bytes into `in`, unless the file ends before. */
static int need_bytes(struct leat_input *input, size_t n_wanted, struct leat_error *err) {
    struct leat_input_bytes *in = &input->in;
    int r = 0;

    if (!in->data) {
        in->data = malloc(IN_BYTES);
        if (!in->data)
            return leat_error_oom(err);
        in->capacity = IN_BYTES;
    }
    if (in->at > 0 && in->at + n_wanted > in->capacity) {
        memmove(in->data, in->data + in->at, in->n_bytes - in->at);
        in->n_bytes -= in->at;
        in->at = 0;
    }
    assert(in->at + n_wanted <= in->capacity);
    while (r == 0 && leat_input_n_in(input) < n_wanted && !input->in_has_ended) {
        size_t n;

        r = leat_input_read_file(input, in->data + in->n_bytes, in->capacity - in->n_bytes,
                                 input->offset + leat_input_n_in(input), &n, err);
        input->in_has_ended = r == 0 && n == 0;
        in->n_bytes += n;
    }
    return r;
}

static void use_bytes(struct leat_input *input, size_t n) {
    input->in.at += n;
    input->offset += n;
}

/* ---- what it is ---- */

static int set_codec(struct leat_input *input, const struct leat_codec_ops *codec,
                     struct leat_error *err) {
    input->is_known = true;
    if (!codec)
        return 0;
    if (codec->start(input->limits.max_window_bytes, &input->state) < 0)
        return leat_error_oom(err);
    input->codec = codec;
    return 0;
}

int leat_input_detect(struct leat_input *input, struct leat_error *err) {
    size_t n;
    int r;

    if (input->is_known)
        return 0;
    r = need_bytes(input, LEAT_CODEC_HEAD, err);
    if (r == LEAT_INPUT_WAITING && leat_input_n_in(input) >= FIFO_HEAD)
        r = 0;
    if (r != 0)
        return r;
    n = leat_input_n_in(input) < LEAT_CODEC_HEAD ? (size_t)leat_input_n_in(input) : LEAT_CODEC_HEAD;
    return set_codec(input, leat_codec_find(input->in.data, n), err);
}

const char *leat_input_format(const struct leat_input *input) {
    if (input->reader)
        return leat_input_format(input->file);
    return input->codec ? input->codec->name : NULL;
}

bool leat_input_is_one_pass(const struct leat_input *input) {
    return input->is_one_pass;
}

bool leat_input_is_object(const struct leat_input *input) {
    return input->object != NULL;
}

int leat_input_state(const struct leat_input *input, struct leat_file_state *ret_state,
                     struct leat_error *err) {
    int r;

    input = input->file ? input->file : input;
    r = input->object ? 0 : leat_file_stat(input->fd, ret_state);
    if (input->object)
        leat_object_state(input->object, ret_state);
    return r < 0 ? leat_error_set(err, r, "cannot get the file's size: %s", strerror(-r)) : 0;
}

uint64_t leat_input_offset(const struct leat_input *input) {
    return input->reader ? input->reader_ops->offset(input->reader) : input->offset;
}

uint64_t leat_input_file_bytes(const struct leat_input *input) {
    return input->file_bytes;
}

size_t leat_input_memory(const struct leat_input *input) {
    size_t n_bytes = sizeof(*input) + input->in.capacity + input->spare.capacity;

    n_bytes += input->head.capacity;
    if (input->reader)
        n_bytes += leat_input_memory(input->file) + input->reader_ops->memory(input->reader);
    if (input->state)
        n_bytes += input->codec->state_bytes;
    if (input->state && input->codec->memory)
        n_bytes += input->codec->memory(input->state);
    return n_bytes;
}

/* ---- decoding ---- */

static int fail_damaged(const struct leat_input *input, const char *reason,
                        struct leat_error *err) {
    return leat_error_set(err, -EBADMSG, "%s: the file is damaged near byte %llu: %s",
                          input->codec->name, (unsigned long long)input->offset, reason);
}

static int fail_cut_short(const struct leat_input *input, struct leat_error *err) {
    return leat_error_set(
        err, -EBADMSG, "%s: the file is truncated: it ends at byte %llu, within a %s",
        input->codec->name, (unsigned long long)input->offset, input->codec->frame);
}

static int fail_too_wide(const struct leat_input *input, const char *reason,
                         struct leat_error *err) {
    return leat_error_set(err, -EBADMSG,
                          "%s: the %s at byte %llu needs more memory than max_window_bytes (%llu): "
                          "%s: raise max_window_bytes if you trust the file",
                          input->codec->name, input->codec->frame,
                          (unsigned long long)input->frame_start,
                          (unsigned long long)input->limits.max_window_bytes, reason);
}

int leat_input_check_expansion(struct leat_input *input, size_t *n_made, struct leat_error *err) {
    uint64_t ratio = input->limits.max_expansion, limit;

    if (ratio == 0 || input->file_bytes == 0 ||
        __builtin_mul_overflow(input->file_bytes, ratio, &limit) ||
        __builtin_add_overflow(limit, LEAT_INPUT_EXPANSION_FREE, &limit) ||
        input->n_decoded <= limit)
        return 0;
    *n_made -= (size_t)(input->n_decoded - limit);
    return leat_error_set(
        err, -EBADMSG,
        "%s: the file of %llu bytes expands to more than %llu bytes, which max_expansion (%llu) "
        "does not allow: raise max_expansion if you trust the file",
        input->codec->name, (unsigned long long)input->file_bytes, (unsigned long long)limit,
        (unsigned long long)ratio);
}

/* Looks for the next frame. PAUSE, or 0 with has_ended set if there is none. */
static int cross_boundary(struct leat_input *input, struct leat_error *err) {
    const char *reason = "";
    size_t n_skip = 0;
    int r;

    do {
        r = need_bytes(input, LEAT_CODEC_HEAD, err);
        if (r == LEAT_INPUT_WAITING && leat_input_n_in(input) >= FIFO_HEAD)
            r = 0;
        if (r != 0)
            return r;
        r = leat_codec_between(input->codec, input->state, input->in.data + input->in.at,
                               leat_input_n_in(input), &n_skip, &reason);
        use_bytes(input, n_skip);
    } while (r == 0 && n_skip > 0);
    if (r == LEAT_CODEC_GARBAGE) {
        input->has_ended = true;
        return 0;
    }
    if (r < 0)
        return fail_damaged(input, reason, err);
    if (r == 0) {
        input->at_boundary = false;
        input->frame_start = input->offset;
    }
    return r;
}

static int decode_piece(struct leat_input *input, uint8_t *out, size_t n_piece, size_t *ret_n,
                        struct leat_error *err) {
    struct leat_codec_io io = {
        .in = input->in.data + input->in.at, .n_in = n_piece, .out = out, .n_out = LEAT_INPUT_STEP};
    const char *reason = "";
    int r = input->codec->decode(input->state, &io, &reason);
    size_t n_used = n_piece - io.n_in;

    use_bytes(input, n_used);
    *ret_n = LEAT_INPUT_STEP - io.n_out;
    input->n_decoded += *ret_n;
    input->may_have_more = io.n_out == 0;
    input->at_boundary = r == LEAT_CODEC_BOUNDARY;
    input->is_told = false;
    if (r == -EBADMSG)
        return fail_damaged(input, reason, err);
    if (r == -EFBIG)
        return fail_too_wide(input, reason, err);
    if (r < 0)
        return leat_error_oom(err);
    if (r == 0 && n_used == 0 && *ret_n == 0)
        return n_piece > 0           ? fail_damaged(input, "its data cannot be decoded", err)
               : input->in_has_ended ? fail_cut_short(input, err)
                                     : LEAT_INPUT_WAITING;
    return leat_input_check_expansion(input, ret_n, err);
}

int leat_input_step(struct leat_input *input, uint8_t *out, size_t *ret_n, struct leat_error *err) {
    size_t n_left, n_piece;
    int r;

    *ret_n = 0;
    if (input->at_boundary) {
        r = cross_boundary(input, err);
        if (r != 0 || input->has_ended)
            return r;
    }
    n_left = LEAT_INPUT_STEP - (size_t)((input->offset - input->frame_start) % LEAT_INPUT_STEP);
    r = need_bytes(input, n_left, err);
    if (r == LEAT_INPUT_WAITING && (leat_input_n_in(input) > 0 || input->may_have_more))
        r = 0;
    if (r != 0)
        return r;
    n_piece = n_left < leat_input_n_in(input) ? n_left : (size_t)leat_input_n_in(input);
    return decode_piece(input, out, n_piece, ret_n, err);
}

/* ---- reading ---- */

static size_t take_bytes(struct leat_input_bytes *bytes, void *data, size_t size) {
    size_t n = bytes->n_bytes - bytes->at;

    n = n < size ? n : size;
    if (n > 0)
        memcpy(data, bytes->data + bytes->at, n);
    bytes->at += n;
    return n;
}

int leat_input_grow(struct leat_input_bytes *bytes, size_t capacity, struct leat_error *err) {
    uint8_t *data;

    if (capacity <= bytes->capacity)
        return 0;
    data = realloc(bytes->data, capacity);
    if (!data)
        return leat_error_oom(err);
    bytes->data = data;
    bytes->capacity = capacity;
    return 0;
}

static void free_bytes(struct leat_input_bytes *bytes) {
    free(bytes->data);
    *bytes = (struct leat_input_bytes){.data = NULL};
}

static int read_plain(struct leat_input *input, void *data, size_t size, size_t *ret_n,
                      struct leat_error *err) {
    int r = 0;

    *ret_n = take_bytes(&input->in, data, size);
    if (*ret_n == 0 && !input->in_has_ended) {
        r = leat_input_read_file(input, data, size, input->offset, ret_n, err);
        input->in_has_ended = r == 0 && *ret_n == 0;
    }
    input->offset += *ret_n;
    input->has_ended = leat_input_n_in(input) == 0 && input->in_has_ended;
    return r;
}

/* True if a boundary in a new range is to be reported, once and before it is crossed. */
static bool tells_boundary(struct leat_input *input) {
    uint64_t range = input->offset / LEAT_INPUT_RANGE;

    if (!input->at_boundary || input->is_told || range == input->last_range || input->has_ended)
        return false;
    input->last_range = range;
    input->is_told = true;
    return true;
}

/* An error that follows decoded bytes stays in `fault` until they are taken. */
static int read_decoded(struct leat_input *input, uint8_t *data, size_t size, size_t *ret_n,
                        struct leat_error *err) {
    bool is_direct = size >= LEAT_INPUT_STEP;
    int r = is_direct ? 0 : leat_input_grow(&input->spare, LEAT_INPUT_STEP, err);

    while (r == 0 && *ret_n == 0 && !input->has_ended) {
        size_t n;

        if (tells_boundary(input))
            return LEAT_INPUT_BOUNDARY;
        r = leat_input_step(input, is_direct ? data : input->spare.data, &n, err);
        if (is_direct) {
            *ret_n = n;
        } else {
            input->spare.at = 0;
            input->spare.n_bytes = n;
            *ret_n = take_bytes(&input->spare, data, size);
        }
    }
    return r < 0 && *ret_n > 0 ? 0 : r;
}

static int read_more(struct leat_input *input, void *data, size_t size, size_t *ret_n,
                     struct leat_error *err) {
    int r;

    if (input->reader)
        return input->reader_ops->read(input->reader, data, size, ret_n, err);
    r = leat_input_detect(input, err);
    if (r != 0 || input->has_ended)
        return r;
    return input->codec ? read_decoded(input, data, size, ret_n, err)
                        : read_plain(input, data, size, ret_n, err);
}

/* The first error of an input is final. */
static int read_on(struct leat_input *input, void *data, size_t size, size_t *ret_n,
                   struct leat_error *err) {
    int r = input->fault.code;

    *ret_n = take_bytes(&input->spare, data, size);
    if (*ret_n > 0)
        return 0;
    if (input->spare.capacity > LEAT_INPUT_STEP)
        free_bytes(&input->spare);
    if (r == 0)
        r = read_more(input, data, size, ret_n, &input->fault);
    if (r < 0) {
        r = leat_error_agree(&input->fault, r);
        *err = input->fault;
    }
    return r;
}

int leat_input_read(struct leat_input *input, void *data, size_t size, size_t *ret_n,
                    struct leat_error *err) {
    *ret_n = take_bytes(&input->head, data, size);
    return *ret_n > 0 ? 0 : read_on(input, data, size, ret_n, err);
}

/* Finds the compression without reading more than that takes, as reading goes on elsewhere. */
static int detect_by_head(struct leat_input *input, struct leat_error *err) {
    uint8_t head[LEAT_CODEC_HEAD];
    size_t n_head = 0, n = 1;
    int r = 0;

    if (input->is_known || input->is_one_pass || leat_input_n_in(input) > 0)
        return leat_input_detect(input, err);
    while (r == 0 && n > 0 && n_head < sizeof(head)) {
        r = leat_input_read_file(input, head + n_head, sizeof(head) - n_head, n_head, &n, err);
        n_head += n;
    }
    return r ? r : set_codec(input, leat_codec_find(head, n_head), err);
}

int leat_input_seek(struct leat_input *input, uint64_t *n, struct leat_error *err) {
    int r = detect_by_head(input->reader ? input->file : input, err);

    if (r == 0 && input->reader) {
        input->reader_ops->go(input->reader, *n);
        *n = 0;
    }
    if (r != 0 || input->reader || input->codec || input->is_one_pass)
        return r;
    input->offset += *n;
    input->in.at = input->in.n_bytes;
    input->in_has_ended = false;
    *n = 0;
    return 0;
}

bool leat_input_jump(struct leat_input *input, uint64_t offset) {
    if (input->fault.code)
        return false;
    if (input->reader) {
        if (!input->file->is_known || input->file->codec || input->is_one_pass)
            return false;
        free_bytes(&input->head);
        input->fault = LEAT_ERROR_INIT;
        input->reader_ops->go(input->reader, offset);
        return true;
    }
    if (!input->is_known || input->codec || input->is_one_pass)
        return false;
    input->offset = offset;
    input->in.at = input->in.n_bytes;
    free_bytes(&input->head);
    free_bytes(&input->spare);
    input->in_has_ended = input->has_ended = false;
    return true;
}

int leat_input_peek(struct leat_input *input, size_t size, const uint8_t **ret_data, size_t *ret_n,
                    struct leat_error *err) {
    struct leat_input_bytes *head = &input->head;
    int r = 0;

    assert(head->at == 0);
    if (leat_input_grow(head, size, err) < 0)
        return -ENOMEM;
    while (head->n_bytes < size) {
        size_t n = 0;

        r = read_on(input, head->data + head->n_bytes, size - head->n_bytes, &n, err);
        head->n_bytes += n;
        if (r == LEAT_INPUT_BOUNDARY)
            continue;
        if (r != 0 || n == 0)
            break;
    }
    r = r == LEAT_INPUT_HOLE ? 0 : r;
    *ret_data = head->data;
    *ret_n = head->n_bytes;
    return r;
}

/* ---- through a record reader ---- */

int leat_input_new_of_records(struct leat_input *take_file,
                              const struct leat_record_reader_ops *ops, void *take_reader,
                              struct leat_input **ret_input, struct leat_error *err) {
    struct leat_input *input = calloc(1, sizeof(*input));

    if (!input) {
        ops->free(take_reader);
        leat_input_close(take_file);
        return leat_error_oom(err);
    }
    *input = (struct leat_input){
        .fd = -1,
        .is_one_pass = take_file->is_one_pass,
        .is_known = true,
        .limits = take_file->limits,
        .file_bytes = take_file->file_bytes,
        .reader_ops = ops,
        .reader = take_reader,
        .file = take_file,
    };
    *ret_input = input;
    return 0;
}

bool leat_input_has_records(const struct leat_input *input) {
    return input->reader != NULL;
}

uint64_t leat_input_range(const struct leat_input *input, uint64_t *ret_n_ranges) {
    uint64_t n_bytes = leat_input_format(input) ? leat_input_file_bytes(input) : 0;

    *ret_n_ranges = 0;
    if (input->reader)
        return input->reader_ops->range ? input->reader_ops->range(input->reader, ret_n_ranges) : 0;
    *ret_n_ranges = (n_bytes + LEAT_INPUT_RANGE - 1) / LEAT_INPUT_RANGE;
    return leat_input_offset(input) / LEAT_INPUT_RANGE;
}

void leat_input_tell_again(struct leat_input *input) {
    if (input->reader)
        input->reader_ops->tell_again(input->reader);
    input->is_told = false;
    input->last_range = UINT64_MAX;
}

bool leat_input_prepare(struct leat_input *input, uint64_t range, size_t max_bytes) {
    return input->reader_ops->prepare && !input->is_one_pass &&
           input->reader_ops->prepare(input->reader, range, max_bytes);
}

uint64_t leat_input_cross(struct leat_input *input) {
    return input->reader_ops->cross(input->reader);
}

void leat_input_stop(struct leat_input *input, uint64_t record) {
    if (input->reader)
        input->reader_ops->stop(input->reader, record);
}

int leat_input_read_at(struct leat_input *input, uint64_t offset, void *data, size_t n,
                       struct leat_error *err) {
    size_t n_done = 0;

    while (n_done < n) {
        size_t n_read;
        int r = leat_input_read_file(input, (uint8_t *)data + n_done, n - n_done, offset + n_done,
                                     &n_read, err);

        if (r < 0)
            return r;
        if (n_read == 0)
            return leat_error_set(err, -EBADMSG, "the file is truncated: it ends at byte %llu",
                                  (unsigned long long)(offset + n_done));
        n_done += n_read;
    }
    return 0;
}
