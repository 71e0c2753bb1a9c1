/* input_internal.h: an input, shared by input.c (reading) and input_ahead.c (decoding ahead) only.
 */
#pragma once

#include <sys/types.h>

#include "pipeline/io/input.h"

#define LEAT_INPUT_STEP 65536U /* bytes that one step of decoding sees and makes, at most */

struct leat_input_bytes {
    uint8_t *data;
    size_t at, n_bytes, capacity; /* data[at .. n_bytes) is there */
};

struct leat_input {
    int fd;
    bool is_one_pass;
    struct leat_input_limits limits;
    uint64_t file_bytes; /* 0: unknown */
    dev_t device;
    ino_t inode;
    uint64_t entered_at; /* in the file: where it began */

    const struct leat_codec_ops *codec; /* NULL: as it is, or not known yet */
    void *state;
    bool is_known; /* the head was looked at */

    struct leat_input_bytes
        in;            /* of the file; not used once it is known to be as it is, and read */
    uint64_t offset;   /* in the file, of in.data[in.at] */
    bool in_has_ended; /* nothing comes behind `in` */
    struct leat_input_bytes spare; /* decoded, not yet handed out */
    struct leat_input_bytes head;  /* of peek */

    uint64_t frame_start; /* in the file */
    uint64_t last_range;  /* of the boundary that was told last */
    bool at_boundary;     /* between two frames */
    bool is_told;         /* and the reader knows */
    bool may_have_more;   /* the last step filled all of its room */
    bool has_ended;       /* all is decoded */
    uint64_t n_decoded;   /* from the start of the file */
    uint64_t n_garbage;
    struct leat_error fault; /* final; comes behind what is in `spare` */

    const struct leat_lens_ops *lens_ops; /* not NULL: it is `file`, seen through the lens */
    void *lens;
    struct leat_input *file;
};

static inline uint64_t leat_input_n_in(const struct leat_input *input) {
    return input->in.n_bytes - input->in.at;
}

/* Some bytes of the file at `offset`: 0 (*ret_n 0: its end), WAITING. */
int leat_input_read_file(struct leat_input *input, void *data, size_t size, uint64_t offset,
                         size_t *ret_n, struct leat_error *err);
/* Finds out what it is: 0, WAITING. */
int leat_input_look(struct leat_input *input, struct leat_error *err);
int leat_input_grow(struct leat_input_bytes *bytes, size_t capacity, struct leat_error *err);
/* Of n_made bytes, decoded last: leaves those within `max_expansion`. -EBADMSG: not all are. */
int leat_input_check_expansion(struct leat_input *input, size_t *n_made, struct leat_error *err);
/* One step: *ret_n bytes at `out`, where there is room for LEAT_INPUT_STEP. 0; PAUSE, WAITING;
 * -errno, which comes behind those bytes. */
int leat_input_step(struct leat_input *input, uint8_t *out, size_t *ret_n, struct leat_error *err);
