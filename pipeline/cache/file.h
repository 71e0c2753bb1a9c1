/* cache/file.h: the file of a cache: a head with its identity, frames in the order of the source,
 * and once it is complete an index of the frames and a footer.
 *
 *     head | frame | frame | ... | index: the heads of all frames | footer
 *
 * A file without a footer is being built, or its builder was killed. Opening it goes from frame to
 * frame and ends at the last whole one. The contents of a frame are checked when it is read, so
 * later damage costs only that frame. The functions block: they run in jobs. A file has one owner,
 * the run, which alone adds frames; a job that writes or reads works on a copy of a frame.
 */
#pragma once

#include "pipeline/cache/frame.h"
#include "pipeline/io/object.h"
#include "proto/base/blake2b.h"

#define LEAT_CACHE_VERSION               1
#define LEAT_CACHE_DESCRIPTION_MAX_BYTES 65536

/* The identity of a cache (cache/key.h). */
struct leat_cache_identity {
    uint8_t key[LEAT_DIGEST_BYTES];  /* all of it: the name of the file */
    uint8_t spec[LEAT_DIGEST_BYTES]; /* what is done to a record */
    uint8_t data[LEAT_DIGEST_BYTES]; /* the contents of the source, wherever it lies */
    uint32_t shard, n_shards;        /* of `leatctl cache prepare`; 0 and 1: all of the source */
};

/* A shard of a prepared set. */
struct leat_cache_part {
    struct leat_cache_file *file;
    uint64_t end_record; /* in the whole */
};

struct leat_cache_file {
    int fd;
    struct leat_object *object; /* in place of fd, of one that is only read; NULL: none */
    struct leat_cache_identity identity;
    char *description; /* JSON for people: stream, source, files */
    uint64_t seed;     /* of the checksums of heads */
    struct leat_cache_frame *frames;
    size_t n_frames, capacity;
    uint64_t n_records, n_rows;
    uint64_t end;       /* where the next frame goes */
    char *temporary;    /* its path until it is published, removed with it; NULL: none */
    bool is_complete;   /* all of the source is in */
    bool is_cheap;      /* cheap to make again: nobody waits until it is on the disk */
    uint64_t n_dropped; /* bytes behind the last whole frame when it was opened */
    uint32_t n_refs;    /* of the run */
    /* The shards of a prepared set, whose frames stand in `frames` under their numbers in the
     * whole. The file itself has no descriptor. NULL: it is one file. */
    struct leat_cache_part *parts;
    size_t n_parts;
};

/* Writes the head of a new, empty file; -errno as of writing. The descriptor is taken, also if it
 * fails. */
int leat_cache_file_new(int take_fd, const struct leat_cache_identity *identity,
                        const char *description, struct leat_cache_file **ret_file,
                        struct leat_error *err);
/* -EBADMSG: it is no cache of this version, or not even its head is whole. */
int leat_cache_file_open(int take_fd, struct leat_cache_file **ret_file, struct leat_error *err);
/* The same for an object of a store, which must be complete. n_frames: it should have, or 0. Reads
 * its ends only; begins to read them where leat_cache_file_read_ahead() was called. */
int leat_cache_file_open_object(struct leat_object *take_object, uint64_t n_frames,
                                struct leat_cache_file **ret_file, struct leat_error *err);
void leat_cache_file_read_ahead(struct leat_object *object, uint64_t n_frames);
struct leat_cache_file *leat_cache_file_ref(struct leat_cache_file *file);
struct leat_cache_file *leat_cache_file_unref(struct leat_cache_file *file);

/* Makes the frame the next one: sets its position and record. */
void leat_cache_file_place(const struct leat_cache_file *file, struct leat_cache_frame *frame);
/* Counts a frame that was written where it was placed. 0 or -ENOMEM. */
int leat_cache_file_add(struct leat_cache_file *file, const struct leat_cache_frame *frame);
/* Writes a placed frame; nothing but fd and seed is used. */
int leat_cache_file_write(int fd, uint64_t seed, const struct leat_cache_frame *frame,
                          const uint8_t *stored, struct leat_error *err);
/* Cuts off what is behind the last frame. */
int leat_cache_file_trim(struct leat_cache_file *file, struct leat_error *err);
/* Removes all frames of the builder's file. */
int leat_cache_file_clear(struct leat_cache_file *file, struct leat_error *err);
/* Writes index and footer, and waits until all of it is on the disk. The caller sets
 * is_complete. */
int leat_cache_file_finish(const struct leat_cache_file *file, struct leat_error *err);

/* Reads the n_stored bytes of the frame. -EBADMSG: they are damaged. */
int leat_cache_file_read(int fd, const struct leat_cache_frame *frame, uint8_t *ret_stored,
                         struct leat_error *err);
/* The same for an object. is_alone: no frames are read that stand near it; else leat-fetch reads
 * ahead, for a reader that goes from frame to frame. */
int leat_cache_file_read_object(const struct leat_object *object, bool is_alone,
                                const struct leat_cache_frame *frame, uint8_t *ret_stored,
                                struct leat_error *err);
/* A file of no parts yet; NULL: no memory. */
struct leat_cache_file *leat_cache_file_new_whole(const struct leat_cache_identity *identity);
/* Adds the frames of a part behind those that are there. -EBADMSG: they do not follow. */
int leat_cache_file_add_part(struct leat_cache_file *whole, struct leat_cache_file *take_part,
                             struct leat_error *err);
/* The part that has the frame, or the file itself. */
const struct leat_cache_file *leat_cache_file_part(const struct leat_cache_file *file,
                                                   const struct leat_cache_frame *frame);
/* The frame with that record of the pass, or NULL. */
const struct leat_cache_frame *leat_cache_file_find(const struct leat_cache_file *file,
                                                    uint64_t record);
