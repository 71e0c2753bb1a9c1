/* scan.h: the SCAN job: reads the next pieces of the current file and cuts them at records. Any
 * thread.
 */
#pragma once

#include "pipeline/cache/frame.h"
#include "pipeline/io/input.h"
#include "pipeline/plan/data_watch.h"
#include "pipeline/plan/plan.h"
#include "pipeline/work/decode.h"

struct leat_span;
struct leat_span_table;

/* Bytes of source, in memory that is used again. */
struct leat_buffer {
    struct leat_buffer *next;
    uint8_t *data;
    size_t capacity; /* without the LEAT_BUFFER_SLACK bytes behind it */
    uint64_t counted_bytes;
};
#define LEAT_BUFFER_SLACK 64

/* The spans of a pass in the order in which they are read. Without one, files are read from front
 * to back. */
struct leat_route {
    const struct leat_span_table *table; /* the run's; NULL: no route */
    const uint32_t *order;               /* [table->n_spans], the run's */
    size_t at;                           /* in order: the next span */
    const struct leat_span *span;        /* being read; NULL: none */
    uint64_t n_left;                     /* bytes of it that are not read yet */
    uint64_t n_records;                  /* of it that were found */
    bool is_checked;                     /* The files are as they were when they were counted. */
};

/* The place of reading. Owner: the SCAN job while it is out, else the run. */
struct leat_scan {
    const struct leat_plan *plan;
    const struct leat_opener *opener;
    size_t file; /* index of the current file; == end_file: the pass has ended */
    size_t end_file;
    struct leat_input *input; /* NULL: not open yet */
    struct leat_input *first; /* of the first file, if it is a FIFO that the plan has opened */
    bool may_read_once;       /* This is the first pass, so the source may be a FIFO. */
    uint64_t n_to_pass;       /* bytes of the file's text that are skipped */
    uint64_t piece_offset;    /* of the carried bytes */
    uint64_t line;            /* of the carried bytes, from 1 */
    uint64_t record;          /* records of the pass that were handed out */
    uint64_t n_file_records;  /* of them of the file */
    uint8_t *carry;           /* the beginning of a record that is not whole yet */
    size_t n_carry, carry_capacity;
    bool is_skipping; /* It skips the rest of a line that began with a record too long. */
    bool is_begun;    /* BOM and header of the file were read. */
    bool is_midway;   /* The file, once opened, is read from piece_offset. */
    struct leat_span_table *counts; /* not NULL: records are counted there, and no pieces are cut */
    struct leat_route route;
    struct leat_data_watch *watch; /* of its files, the run's; NULL: they are not watched */

    /* decoded ahead */
    struct leat_unit *units;                      /* by key */
    struct leat_unit_key missing[LEAT_UNITS_MAX]; /* being decoded */
    size_t n_missing;
    /* Ranges of horizon.file from horizon.range on, and files from horizon_file on, may be decoded
     * by now. */
    bool has_horizon;
    struct leat_unit_key horizon;
    size_t horizon_file;
};

/* A piece of whole records, in a source with lanes of one block (plan->blocks). Where it is cut
 * depends only on where it starts, unless it comes through a FIFO. Owner: the run, then the MAP
 * job. */
struct leat_piece {
    struct leat_buffer *buffer; /* NULL: it was not read, or it is count-only */
    struct leat_cache_span span;
    uint64_t record;    /* number of its first record within the pass */
    uint64_t n_marks;   /* JSON separators of a piece larger than a block, if memory is limited; a
                           parser needs more memory the more there are */
    const char *damage; /* why the span is_damaged; in the buffer, behind the bytes */
};

/* Pieces of a job. Reading one takes less time than waking a thread. */
#define LEAT_SCAN_MAX 4
/* Pieces of a job that are only placed, and need no buffer. */
#define LEAT_SCAN_PLACES_MAX 32

struct leat_scan_job {
    struct leat_scan *scan;
    size_t max_bytes;   /* in: of a buffer, at least a block's */
    size_t wants_bytes; /* out: of a buffer that it needs; 0: none */
    size_t block_bytes; /* in: of a piece; 0: as the plan says */
    size_t n_pieces;    /* in: at most */
    bool only_places;   /* in: pieces that the table of the route places are not read */
    struct leat_buffer *buffers[LEAT_SCAN_MAX];     /* in: empty; out: NULL if its piece has it */
    struct leat_piece pieces[LEAT_SCAN_PLACES_MAX]; /* out, in order; span.n_records 0: none */
    bool has_ended;                                 /* out: the pass has no more bytes */
    bool lacks_buffer; /* out: the next piece has to be read, and all buffers are taken */
    bool is_waiting;   /* out: more bytes will come later */
    bool is_outdated;  /* out: a file has changed since the spans of the route were counted */
    bool wants_unit;   /* out: it waits until `wanted` is decoded */
    struct leat_unit_key wanted;
};

/* Starts a pass, on the run's thread. may_read_once: takes the first input of the plan, if it has
 * one. */
void leat_scan_start(struct leat_scan *scan, struct leat_plan *plan,
                     const struct leat_opener *opener, bool may_read_once);
/* Starts a pass behind that piece, with which its first n_records end, n_file_records of which are
 * of its file. */
void leat_scan_start_behind(struct leat_scan *scan, struct leat_plan *plan,
                            const struct leat_opener *opener, const struct leat_cache_span *last,
                            uint64_t n_records, uint64_t n_file_records);
void leat_scan_stop(struct leat_scan *scan);
/* Reads only the files from first_file up to end_file. */
void leat_scan_limit(struct leat_scan *scan, size_t first_file, size_t end_file);
/* Lends the scanner the watch of its files; NULL: they are not watched. */
void leat_scan_watch(struct leat_scan *scan, struct leat_data_watch *watch);
/* Counts records into the table instead of cutting pieces. */
void leat_scan_count(struct leat_scan *scan, struct leat_span_table *table);
/* Reads the spans of the table in that order. */
void leat_scan_follow_route(struct leat_scan *scan, const struct leat_span_table *table,
                            const uint32_t *order);
/* A failure concerns the bytes behind the pieces. */
int leat_scan_execute(struct leat_scan_job *job, uint64_t *n_bytes, struct leat_error *err);
/* Parts of it (scan_route.c). Compares the files with their state when they were counted, and sets
 * job->is_outdated. */
int leat_route_check(struct leat_scan_job *job, struct leat_error *err);
/* Goes to the next span, or to the end. */
int leat_route_enter(struct leat_scan *scan, struct leat_error *err);
/* -ESTALE: the open file has changed since it was counted. */
int leat_route_meet_file(const struct leat_scan *scan, struct leat_error *err);
/* Makes the span a piece without a buffer: 1; 0: it has to be read; -errno. */
int leat_route_take_place(struct leat_scan_job *job, size_t index, struct leat_error *err);
/* Leaves the span if the piece was its last one. at_end: all bytes of the span were read. */
int leat_route_leave(struct leat_scan_job *job, size_t index, bool at_end,
                     const struct leat_cut *piece, struct leat_error *err);

/* Pieces that end with blocks (scan_block.c). Records that the next piece may have; UINT64_MAX: any
 * number. */
uint64_t leat_scan_room_in_block(const struct leat_scan *scan);
/* Bytes that are read for a piece of at most `limit`. */
size_t leat_scan_bytes_to_read(const struct leat_scan *scan, size_t limit);
/* Ends the cut in front of the first record of the next block. */
int leat_scan_end_at_block(const struct leat_scan *scan, const struct leat_buffer *buffer,
                           struct leat_cut *cut, bool *at_end, struct leat_error *err);

/* A plain file that stays open from one piece to the next. Zeroed: none. */
struct leat_scan_kept {
    struct leat_input *input;
    uint32_t file;
    uint64_t epoch;
    struct leat_file_state state;
};

/* Reads a piece again, into its buffer. kept: the file that was read before, which is used if it is
 * that of the piece and has not changed in this epoch; or NULL. -ESTALE: the file has become
 * shorter. */
int leat_scan_read(const struct leat_plan *plan, const struct leat_opener *opener, uint64_t epoch,
                   struct leat_scan_kept *kept, struct leat_piece *piece, struct leat_error *err);
void leat_scan_close_kept(struct leat_scan_kept *kept);

/* Units of the scanner (scan_units.c). Adds one. */
void leat_scan_add_unit(struct leat_scan *scan, struct leat_unit *take_unit);
/* Sets the places that are being decoded, and clears the horizon. */
void leat_scan_expect_units(struct leat_scan *scan, const struct leat_unit_key *keys, size_t n);
/* Sets the horizon: ranges from the key on, and files from `file` on. */
void leat_scan_set_horizon(struct leat_scan *scan, struct leat_unit_key key, size_t file);
/* Takes the unit of that place; NULL: none. */
struct leat_unit *leat_scan_take_unit(struct leat_scan *scan, struct leat_unit_key key);
/* False: that place is being decoded, or may be by now, and the job ends in front of it. */
bool leat_scan_may_pass(struct leat_scan_job *job, struct leat_unit_key key);
/* Goes on with the unit of that boundary, if there is one. */
void leat_scan_change_input(struct leat_scan *scan, struct leat_unit_key key);

/* Counts the files of the plan from first_file up to end_file into an empty table; *ret_n_bytes: of
 * text that were read. Blocks. -ESPIPE: a file is a FIFO. A run does the same by jobs. */
int leat_scan_count_files(const struct leat_plan *plan, const struct leat_opener *opener,
                          size_t first_file, size_t end_file, struct leat_span_table *table,
                          uint64_t *ret_n_bytes, struct leat_error *err);

/* A piece of the source, read again, with the places of its records. */
struct leat_piece_index {
    struct leat_buffer buffer; /* the bytes of the piece */
    uint32_t *starts, *ends;   /* [n_records of the span]: of each record in the bytes */
};

/* Reads and cuts the piece. Blocks. -ESTALE: the file has changed. The result is deinitialized in
 * any case. */
int leat_piece_index_read(struct leat_piece_index *index, const struct leat_plan *plan,
                          const struct leat_opener *opener, const struct leat_cache_span *span,
                          struct leat_error *err);
void leat_piece_index_deinit(struct leat_piece_index *index);
