/* input.h: the bytes of a file as sources see them: as they are, or decompressed if the file's
 * first bytes say so.
 *
 * An input is read from front to back. What it gives depends on the file's bytes alone, also in
 * front of damage: a decoder is always called with the same sizes, counted from its frame's start.
 *
 * An input may also begin in the middle of a compressed file and decode ahead into memory. It
 * begins at the first place behind some byte where a frame seems to begin. If the input that reads
 * the file reaches that very byte at a boundary between frames, the other takes its place: it has
 * what the first would have read next. So a wrong guess only costs time.
 *
 * Owner: the job that reads. May block, but not for long where a FIFO has nothing to give.
 */
#pragma once

#include "pipeline/io/codec.h"
#include "pipeline/io/opener.h"
#include "proto/base/file.h"

/* A search for frames looks at one place in so many bytes of a compressed file. */
#define LEAT_INPUT_RANGE (UINT64_C(1) << 20)
/* Frames that reach back farther are not decoded ahead. */
#define LEAT_INPUT_AHEAD_WINDOW (UINT64_C(16) << 20)
/* max_expansion does not limit so many decompressed bytes. */
#define LEAT_INPUT_EXPANSION_FREE (UINT64_C(64) << 20)

enum {
    LEAT_INPUT_BOUNDARY = 1, /* a frame has ended in another range than the one before */
    LEAT_INPUT_WAITING = 2,  /* a FIFO has nothing right now */
    LEAT_INPUT_HOLE = 3,     /* of a record reader: the next bytes are elsewhere, see cross */
};

struct leat_input_limits {
    uint64_t max_window_bytes; /* memory that a compressed file may ask for */
    uint64_t max_expansion;    /* decompressed bytes for each of the file's, behind the first
                                  LEAT_INPUT_EXPANSION_FREE; 0: any number */
    uint64_t max_record_bytes; /* for record readers, which make records themselves */
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

/* Before the first byte is read: goes to byte *n of a plain file and sets *n to 0. Changes nothing
 * if the file is compressed. 0, LEAT_INPUT_WAITING, or as read. */
int leat_input_seek(struct leat_input *input, uint64_t *n, struct leat_error *err);

/* At any time: goes to that byte of a plain file. False: the file is not known to be plain, or
 * reading it has failed. */
bool leat_input_jump(struct leat_input *input, uint64_t offset);

/* Looks at the first `size` bytes, fewer only at the file's end; leat_input_read() gives them
 * again. 0, LEAT_INPUT_WAITING (with *ret_n so far), or as read. */
int leat_input_peek(struct leat_input *input, size_t size, const uint8_t **ret_data, size_t *ret_n,
                    struct leat_error *err);

/* The compression of the file, known once a byte was read; NULL: none. */
const char *leat_input_format(const struct leat_input *input);
/* True of a FIFO, which can be read only once. */
bool leat_input_is_one_pass(const struct leat_input *input);
/* True if the bytes come from an object store. */
bool leat_input_is_object(const struct leat_input *input);
/* The state of the file now. 0 or -errno. */
int leat_input_state(const struct leat_input *input, struct leat_file_state *ret_state,
                     struct leat_error *err);
/* The place in the file, in bytes. */
uint64_t leat_input_offset(const struct leat_input *input);
uint64_t leat_input_file_bytes(const struct leat_input *input); /* 0: unknown */
/* Bytes of memory that it takes. */
size_t leat_input_memory(const struct leat_input *input);

/* Exactly n bytes of a plain file from that offset on. -EBADMSG: it ends before. */
int leat_input_read_at(struct leat_input *input, uint64_t offset, void *data, size_t n,
                       struct leat_error *err);

/* ---- through a record reader ---- */

/* A record reader makes records of a file whose bytes are none, such as the rows of a columnar
 * file, and gives them one behind the other. What stands at which place depends on the file alone.
 * Places need not be dense, so that one can be gone to without seeing all before it: where the next
 * bytes are elsewhere, `read` says LEAT_INPUT_HOLE and `cross` tells where. It may give records in
 * stripes (cut/format.h), of which `read` begins one each time, of at most `size` bytes if it has
 * more than one record. All functions are as those of an input. Owner: the input. */
struct leat_record_reader_ops {
    int (*read)(void *reader, void *data, size_t size, size_t *ret_n, struct leat_error *err);
    void (*go)(void *reader, uint64_t place);
    uint64_t (*cross)(void *reader);
    void (*stop)(void *reader, uint64_t record);
    uint64_t (*offset)(const void *reader); /* in bytes of the file */
    size_t (*memory)(const void *reader);
    void (*free)(void *reader);
    /* These are NULL unless ranges of the file (row groups) can be read ahead. At the start of each
     * range but the first `read` returns LEAT_INPUT_BOUNDARY once, and again after `tell_again`. */
    uint64_t (*range)(const void *reader, uint64_t *ret_n_ranges); /* of the next bytes */
    void (*tell_again)(void *reader);
    /* Goes to the range and reads some of what it needs. False: nothing of use. */
    bool (*prepare)(void *reader, uint64_t range, size_t max_bytes);
    /* Goes on from a reader of the same file which is at a boundary. False: it is elsewhere. */
    bool (*adopt)(void *reader, const void *other);
};

/* An input of the records that the reader makes of `take_file`, of which nothing was read. Takes
 * both, also when it fails. 0 or -ENOMEM. */
int leat_input_new_of_records(struct leat_input *take_file,
                              const struct leat_record_reader_ops *ops, void *take_reader,
                              struct leat_input **ret_input, struct leat_error *err);
bool leat_input_has_records(const struct leat_input *input);
/* After LEAT_INPUT_HOLE: the place of the next bytes. */
uint64_t leat_input_cross(struct leat_input *input);
/* Makes reading stop in front of that record of the file, by LEAT_INPUT_HOLE; the next bytes are
 * just there. Of other inputs it changes nothing. */
void leat_input_stop(struct leat_input *input, uint64_t record);

/* ---- ahead ---- */

/* Returns the range of the file in which the next bytes begin; *ret_n_ranges is 0 if nothing of it
 * can be read ahead. */
uint64_t leat_input_range(const struct leat_input *input, uint64_t *ret_n_ranges);
/* Makes the next read say LEAT_INPUT_BOUNDARY once more, if the last one did. */
void leat_input_tell_again(struct leat_input *input);
/* Reads ahead in an input of records that was not read. False: it is of no use. */
bool leat_input_prepare(struct leat_input *input, uint64_t range, size_t max_bytes);

/* An input that has decoded the frames that begin in the range-th LEAT_INPUT_RANGE of the file, up
 * to max_bytes. *ret_input NULL: no frame of use begins there. Range 0 is the file itself, which is
 * opened also if it is not compressed. 0 or -ENOMEM; who reads the file meets its other errors. */
int leat_input_open_ahead(const struct leat_opener *opener, const char *path,
                          const struct leat_input_limits *limits, uint64_t range, size_t max_bytes,
                          struct leat_input **ret_input);
/* Puts `ahead` in the place of an input that said BOUNDARY, if it begins just there. True: `input`
 * can be closed. */
bool leat_input_adopt(struct leat_input *ahead, struct leat_input *input);
