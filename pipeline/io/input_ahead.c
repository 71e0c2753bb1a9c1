/* input_ahead.c: decodes the frames with which a range of a compressed file begins. See input.h.
 *
 * The first bytes suggest where a frame begins in the middle of a file, and decoding tries it: what
 * does not decode was no frame. What decodes and still is no frame is never adopted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/io/input_internal.h"

#define GUESSES        8 /* places in one range that look like a frame and are none */
#define GUESSES_WITHIN (LEAT_INPUT_RANGE + LEAT_CODEC_HEAD)

static bool is_wide(const struct leat_input *input) {
    return input->codec->memory && input->codec->memory(input->state) > LEAT_INPUT_AHEAD_WINDOW;
}

/* Decodes into `spare`; 0, or the failure of a guess. */
static int decode_ahead(struct leat_input *input, uint64_t stop_at, size_t max_bytes) {
    struct leat_error fault = LEAT_ERROR_INIT;
    int r = 0;

    while (r == 0 && !input->has_ended && input->spare.n_bytes + LEAT_INPUT_STEP <= max_bytes &&
           !(input->at_boundary && input->offset >= stop_at)) {
        size_t n = 0, capacity = input->spare.capacity;

        if (input->spare.n_bytes + LEAT_INPUT_STEP > capacity) {
            capacity = capacity ? capacity * 2 : 4 * LEAT_INPUT_STEP;
            r = leat_input_grow(&input->spare, capacity < max_bytes ? capacity : max_bytes, &fault);
        }
        if (r == 0)
            r = leat_input_step(input, input->spare.data + input->spare.n_bytes, &n, &fault);
        input->spare.n_bytes += n;
        if (r == 0 && is_wide(input))
            r = -EFBIG;
    }
    return r == LEAT_CODEC_PAUSE ? 0 : r;
}

/* Starts over at that byte of the file. */
static int enter_frame(struct leat_input *input, const uint8_t *file_head, const uint8_t *head,
                       uint64_t offset) {
    input->codec->stop(input->state);
    input->state = NULL;
    if (input->codec->start(input->limits.max_window_bytes, &input->state) < 0) {
        input->codec = NULL;
        return -ENOMEM;
    }
    if (input->codec->enter && !input->codec->enter(input->state, file_head, head))
        return -EBADMSG;
    input->in.at = input->in.n_bytes = 0;
    input->in_has_ended = input->at_boundary = input->has_ended = false;
    input->offset = input->frame_start = input->entered_at = offset;
    input->spare.n_bytes = 0;
    input->n_decoded = 0;
    return 0;
}

/* The next place at or behind `at` where a frame may begin, or `end`. */
static size_t next_place(const struct leat_codec_ops *codec, const uint8_t *data, size_t at,
                         size_t end) {
    const uint8_t *found;

    if (!codec->first_byte || at >= end)
        return at;
    found = memchr(data + at, codec->first_byte, end - at);
    return found ? (size_t)(found - data) : end;
}

/* Tries the places of the range where a frame seems to begin; false: none of them is good. */
static bool guess_frame(struct leat_input *input, const uint8_t *file_head, const uint8_t *data,
                        size_t n, uint64_t offset, size_t max_bytes) {
    const struct leat_codec_ops *codec = input->codec;
    size_t step = codec->first_byte ? 1 : codec->alignment, n_guesses = 0;
    size_t end = n < LEAT_INPUT_RANGE ? n : LEAT_INPUT_RANGE;

    for (size_t at = 0; (at = next_place(codec, data, at, end)) < end; at += step) {
        uint8_t head[LEAT_CODEC_HEAD] = {0};
        size_t n_head = n - at < sizeof(head) ? n - at : sizeof(head);

        if (!codec->may_begin(data + at, n_head))
            continue;
        memcpy(head, data + at, n_head);
        if (++n_guesses > GUESSES || enter_frame(input, file_head, head, offset + at) < 0)
            return false;
        if (decode_ahead(input, offset + LEAT_INPUT_RANGE, max_bytes) == 0)
            return true;
    }
    return false;
}

static int guess_in_range(struct leat_input *input, uint64_t range, size_t max_bytes,
                          bool *ret_is_good) {
    uint64_t offset = range * LEAT_INPUT_RANGE;
    uint8_t file_head[LEAT_CODEC_HEAD] = {0}, *data = malloc(GUESSES_WITHIN);
    size_t n = 0, n_more = 1;
    struct leat_error err = LEAT_ERROR_INIT;

    if (!data)
        return -ENOMEM;
    memcpy(file_head, input->in.data,
           leat_input_n_in(input) < sizeof(file_head) ? leat_input_n_in(input) : sizeof(file_head));
    while (n < GUESSES_WITHIN && n_more > 0 &&
           leat_input_read_file(input, data + n, GUESSES_WITHIN - n, offset + n, &n_more, &err) ==
               0)
        n += n_more;
    *ret_is_good = guess_frame(input, file_head, data, n, offset, max_bytes);
    free(data);
    return 0;
}

int leat_input_open_ahead(const struct leat_opener *opener, const char *path,
                          const struct leat_input_limits *limits, uint64_t range, size_t max_bytes,
                          struct leat_input **ret_input) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_input *input;
    bool is_good = false;
    int r;

    *ret_input = NULL;
    if (leat_input_open(opener, path, limits, &input, &err) < 0)
        return err.code == -ENOMEM ? -ENOMEM : 0;
    r = input->is_one_pass ? -ESPIPE : leat_input_detect(input, &err);
    if (r == 0 && !input->codec)
        is_good = range == 0;
    else if (r == 0 && range == 0)
        is_good = decode_ahead(input, LEAT_INPUT_RANGE, max_bytes) == 0;
    else if (r == 0)
        r = guess_in_range(input, range, max_bytes, &is_good);
    if (is_good) {
        input->last_range = range;
        *ret_input = input;
    } else {
        leat_input_close(input);
    }
    return r == -ENOMEM ? r : 0;
}

static bool is_same_file(const struct leat_input *a, const struct leat_input *b) {
    return a->device == b->device && a->inode == b->inode && a->file_bytes == b->file_bytes;
}

bool leat_input_adopt(struct leat_input *ahead, struct leat_input *input) {
    if (input->reader)
        return ahead->reader_ops == input->reader_ops && is_same_file(ahead->file, input->file) &&
               ahead->reader_ops->adopt(ahead->reader, input->reader);
    if (!input->at_boundary || ahead->entered_at != input->offset || ahead->codec != input->codec ||
        ahead->device != input->device || ahead->inode != input->inode)
        return false;
    if (input->codec->adopt && !input->codec->adopt(ahead->state, input->state))
        return false;
    ahead->n_decoded += input->n_decoded;
    (void)leat_input_check_expansion(ahead, &ahead->spare.n_bytes, &ahead->fault);
    return true;
}
