/* input_internal.h: the struct of an input; input.c and input_ahead.c include it. */
#pragma once

#include <sys/types.h>

#include "pipeline/io/input.h"
#include "pipeline/io/object.h"

#define LEAT_INPUT_STEP 65536U /* bytes that one step of decoding sees and makes, at most */

struct leat_input_bytes {
    uint8_t *data;
    size_t at, n_bytes, capacity; /* data[at .. n_bytes) is valid */
};

struct leat_input {
    int fd;                     /* -1: it has none */
    struct leat_object *object; /* in place of fd; NULL: none */
    bool is_one_pass;
    struct leat_input_limits limits;
    uint64_t file_bytes; /* 0: unknown */
    dev_t device;
    ino_t inode;
    uint64_t entered_at; /* place in the file where it began */

    const struct leat_codec_ops *codec; /* NULL: none, or not known yet */
    void *state;
    bool is_known; /* the head was looked at */

    struct leat_input_bytes
        in;            /* of the file; not used once it is known to be as it is, and read */
    uint64_t offset;   /* in the file, of in.data[in.at] */
    bool in_has_ended; /* nothing comes behind `in` */
    struct leat_input_bytes spare; /* decoded, not yet handed out */
    struct leat_input_bytes head;  /* of peek */

    uint64_t frame_start;    /* in the file */
    uint64_t last_range;     /* range of the last boundary that was reported */
    bool at_boundary;        /* between two frames */
    bool is_told;            /* and the reader was told */
    bool may_have_more;      /* the last step filled all of its room */
    bool has_ended;          /* all is decoded */
    uint64_t n_decoded;      /* from the start of the file */
    struct leat_error fault; /* final; comes behind what is in `spare` */

    const struct leat_record_reader_ops *reader_ops; /* not NULL: it gives records of `file` */
    void *reader;
    struct leat_input *file;
};

static inline uint64_t leat_input_n_in(const struct leat_input *input) {
    return input->in.n_bytes - input->in.at;
}

/* Reads some bytes of the file at `offset`. 0 (*ret_n 0: its end), WAITING. */
int leat_input_read_file(struct leat_input *input, void *data, size_t size, uint64_t offset,
                         size_t *ret_n, struct leat_error *err);
/* Finds out the compression. 0, WAITING. */
int leat_input_detect(struct leat_input *input, struct leat_error *err);
int leat_input_grow(struct leat_input_bytes *bytes, size_t capacity, struct leat_error *err);
/* Cuts *n_made, the number of bytes decoded last, to those within `max_expansion`. -EBADMSG: some
 * were cut. */
int leat_input_check_expansion(struct leat_input *input, size_t *n_made, struct leat_error *err);
/* Does one step: puts *ret_n bytes at `out`, which has room for LEAT_INPUT_STEP. 0; PAUSE, WAITING;
 * -errno, which comes behind those bytes. */
int leat_input_step(struct leat_input *input, uint8_t *out, size_t *ret_n, struct leat_error *err);
