/* input.h: the bytes of a file as sources see them: as they are, or decompressed if the file's
 * first bytes say so.
 *
 * Read from front to back. What comes is a function of the file's bytes alone, also in front of
 * damage: a decoder is always called with the same sizes, counted from the start of its frame.
 *
 * An input may also begin in the middle of a compressed file, at the first frame that seems to
 * begin behind some byte, and decode ahead into memory. When the input that reads the file reaches
 * just that byte at a boundary between frames, the other can take its place: it has what the first
 * would have read next. So a wrong guess costs time, and nothing else.
 *
 * Owner: the job that reads. May block, but not for long where a FIFO has nothing to give.
 */
#pragma once

#include "pipeline/io/codec.h"
#include "pipeline/io/opener.h"

/* Frames are looked for once in so many bytes of a compressed file. */
#define LEAT_INPUT_RANGE (UINT64_C(1) << 20)
/* Decoding ahead in the middle of a file is for frames that reach back no farther than this. */
#define LEAT_INPUT_AHEAD_WINDOW (UINT64_C(16) << 20)
/* max_expansion counts from here on. */
#define LEAT_INPUT_EXPANSION_FREE (UINT64_C(64) << 20)

enum {
    LEAT_INPUT_BOUNDARY = 1, /* a frame has ended in another range than the one before */
    LEAT_INPUT_WAITING = 2,  /* a FIFO has nothing right now */
    LEAT_INPUT_HOLE = 3,     /* of a lens: what comes next stands elsewhere, see cross */
};

struct leat_input_limits {
    uint64_t max_window_bytes; /* that a compressed file makes its reader keep */
    uint64_t max_expansion;    /* decompressed bytes for each of the file's, behind the first
                                  LEAT_INPUT_EXPANSION_FREE; 0: any number */
    uint64_t max_record_bytes; /* for lenses, which make records themselves */
};

/* How a file is. What no clock and no user can set back tells whether it changed. */
struct leat_file_state {
    uint64_t device, inode, n_bytes;
    int64_t modified_ns, changed_ns;
};

struct leat_input;

/* The file, from its start. 0 or -errno. */
int leat_input_open(const struct leat_opener *opener, const char *path,
                    const struct leat_input_limits *limits, struct leat_input **ret_input,
                    struct leat_error *err);
struct leat_input *leat_input_close(struct leat_input *input);

/* Up to `size` (> 0) bytes. 0: *ret_n of them, none at the end; BOUNDARY, WAITING: none yet.
 * -EBADMSG: the file is damaged or goes beyond a limit; what could be read was read before. Other
 * errors are of the environment. The first error is final: nothing more is read, and every later
 * call gives it again. Messages name no file. */
int leat_input_read(struct leat_input *input, void *data, size_t size, size_t *ret_n,
                    struct leat_error *err);

/* Before the first byte is read: goes to byte *n of the file if it is as it is, and sets *n to 0;
 * of a compressed file nothing is changed. 0, LEAT_INPUT_WAITING, or as read. */
int leat_input_seek(struct leat_input *input, uint64_t *n, struct leat_error *err);

/* At any time: goes to that byte of a file that is as it is. False: it is none, or not known to be,
 * or reading it has failed. */
bool leat_input_jump(struct leat_input *input, uint64_t offset);

/* Reads the first bytes of the file up to `size`, fewer only at its end; they are read again later.
 * 0, LEAT_INPUT_WAITING (with *ret_n so far), or as read. */
int leat_input_peek(struct leat_input *input, size_t size, const uint8_t **ret_data, size_t *ret_n,
                    struct leat_error *err);

/* What the file is, once a byte was read: NULL: as it is. */
const char *leat_input_format(const struct leat_input *input);
/* It can be read only once: a FIFO. */
bool leat_input_is_one_pass(const struct leat_input *input);
/* As the file is now. 0 or -errno. */
int leat_input_state(const struct leat_input *input, struct leat_file_state *ret_state,
                     struct leat_error *err);
/* In bytes of the file. */
uint64_t leat_input_offset(const struct leat_input *input);
uint64_t leat_input_file_bytes(const struct leat_input *input); /* 0: unknown */
/* Bytes of memory that it takes. */
size_t leat_input_memory(const struct leat_input *input);
/* Bytes behind the end of the compressed data that were passed over. */
uint64_t leat_input_n_garbage(const struct leat_input *input);

/* Just n bytes of a file that is as it is, from there on. -EBADMSG: it ends before. */
int leat_input_read_at(struct leat_input *input, uint64_t offset, void *data, size_t n,
                       struct leat_error *err);

/* ---- through a lens ---- */

/* A lens is what sees other bytes in a file than those that it holds: the rows of a columnar one,
 * one behind the other, say. What stands where is a function of the file alone. So that a place can
 * be gone to without seeing all before it, places need not be dense: where one is not the next
 * behind what was read, there is a hole, which tells its end when it is crossed. All functions are
 * those of an input. Owner: the input. */
struct leat_lens_ops {
    int (*read)(void *lens, void *data, size_t size, size_t *ret_n, struct leat_error *err);
    void (*go)(void *lens, uint64_t place);
    uint64_t (*cross)(void *lens);
    uint64_t (*offset)(const void *lens); /* in bytes of the file */
    size_t (*memory)(const void *lens);
    void (*free)(void *lens);
};

/* An input of what the lens sees in `take_file`, of which nothing was read. Takes both, also when
 * it fails. 0 or -ENOMEM. */
int leat_input_put_lens(struct leat_input *take_file, const struct leat_lens_ops *ops,
                        void *take_lens, struct leat_input **ret_input, struct leat_error *err);
bool leat_input_has_lens(const struct leat_input *input);
/* After LEAT_INPUT_HOLE: the place of what is read next. */
uint64_t leat_input_cross(struct leat_input *input);

/* ---- ahead ---- */

/* An input of the range-th LEAT_INPUT_RANGE of the file, which has decoded what begins there, up to
 * max_bytes. *ret_input NULL: no frame begins there, or none that is of use. Range 0 is the file
 * itself; it is opened also if it is not compressed. 0 or -ENOMEM; errors of the file are met again
 * by who reads it. */
int leat_input_open_ahead(const struct leat_opener *opener, const char *path,
                          const struct leat_input_limits *limits, uint64_t range, size_t max_bytes,
                          struct leat_input **ret_input);
/* `ahead` takes the place of an input that said BOUNDARY: true, and `input` can be closed, if it
 * begins just there. */
bool leat_input_adopt(struct leat_input *ahead, struct leat_input *input);
