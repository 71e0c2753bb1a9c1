/* cache/file.h: the file of a cache: a head that says what it is of, frames in the order of the
 * source, and once it is complete an index of them and a footer.
 *
 *     head | frame | frame | ... | index: the heads of all frames | footer
 *
 * A file without a footer is one that is being built, or was when its builder was killed: opening
 * it goes from frame to frame and ends at the last that is whole. What frames hold is checked when
 * it is read, so one that was damaged later costs that one. The functions block: they run in jobs.
 * A file has one owner, the run, which alone adds frames; a job that writes or reads works on a
 * copy of a frame.
 */
#pragma once

#include "pipeline/cache/frame.h"
#include "proto/base/blake2b.h"

#define LEAT_CACHE_VERSION               1
#define LEAT_CACHE_DESCRIPTION_MAX_BYTES 65536

/* What a file is the cache of (cache/key.h). */
struct leat_cache_identity {
    uint8_t key[LEAT_DIGEST_BYTES];  /* all of it: the name of the file */
    uint8_t spec[LEAT_DIGEST_BYTES]; /* what is done to a record */
    uint8_t data[LEAT_DIGEST_BYTES]; /* the contents of the source, wherever it lies */
    uint32_t shard, n_shards;        /* of `leatctl cache prepare`; 0 and 1: all of the source */
};

struct leat_cache_file {
    int fd;
    struct leat_cache_identity identity;
    char *description; /* JSON for people: stream, source, files */
    uint64_t seed;     /* of the checksums of heads */
    struct leat_cache_frame *frames;
    size_t n_frames, capacity;
    uint64_t n_records, n_rows;
    uint64_t end;       /* where the next frame goes */
    bool is_complete;   /* all of the source is in */
    bool is_cheap;      /* to make again: nobody waits until it is on the disk */
    uint64_t n_dropped; /* bytes behind the last whole frame, met when it was opened */
    uint32_t n_refs;    /* of the run */
};

/* Writes the head of a new, empty file; -errno as of writing. The descriptor is taken, also if it
 * fails. */
int leat_cache_file_new(int take_fd, const struct leat_cache_identity *identity,
                        const char *description, struct leat_cache_file **ret_file,
                        struct leat_error *err);
/* -EBADMSG: it is no cache of this version, or not even its head is whole. */
int leat_cache_file_open(int take_fd, struct leat_cache_file **ret_file, struct leat_error *err);
struct leat_cache_file *leat_cache_file_ref(struct leat_cache_file *file);
struct leat_cache_file *leat_cache_file_unref(struct leat_cache_file *file);

/* Makes the frame the next one: its position and record. */
void leat_cache_file_place(const struct leat_cache_file *file, struct leat_cache_frame *frame);
/* Counts a frame that was written where it was placed. 0 or -ENOMEM. */
int leat_cache_file_add(struct leat_cache_file *file, const struct leat_cache_frame *frame);
/* Writes a placed frame; nothing but fd and seed is used. */
int leat_cache_file_write(int fd, uint64_t seed, const struct leat_cache_frame *frame,
                          const uint8_t *stored, struct leat_error *err);
/* Cuts off what is behind the last frame. */
int leat_cache_file_trim(struct leat_cache_file *file, struct leat_error *err);
/* The builder's file has no frame any more. */
int leat_cache_file_clear(struct leat_cache_file *file, struct leat_error *err);
/* Index and footer, and all of it to the disk. is_complete is the caller's to set. */
int leat_cache_file_finish(const struct leat_cache_file *file, struct leat_error *err);

/* What the frame stores, n_stored bytes. -EBADMSG: not what was written, or not all of it. */
int leat_cache_file_read(int fd, const struct leat_cache_frame *frame, uint8_t *ret_stored,
                         struct leat_error *err);
/* The frame with that record of the pass, or NULL. */
const struct leat_cache_frame *leat_cache_file_find(const struct leat_cache_file *file,
                                                    uint64_t record);
