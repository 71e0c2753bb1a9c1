/* job.h: the jobs of a run, as the run and the workers know them. A job has all it needs; nobody
 * else touches that meanwhile.
 *
 * Shared by the run and the files that do the work (scan.c, decode.c, map_run.c, collate.c,
 * quarantine.c) only.
 */
#pragma once

#include "pipeline/cache/bare_schema.h"
#include "pipeline/cache/block.h"
#include "pipeline/cache/key.h"
#include "pipeline/cache/store.h"
#include "pipeline/io/input.h"
#include "pipeline/order/batch_refs.h"
#include "pipeline/plan/data_watch.h"
#include "pipeline/work/job_kind.h"
#include "pipeline/work/knobs.h"
#include "pipeline/work/workspace.h"

/* Bytes of source, used again and again. */
struct leat_buffer {
    struct leat_buffer *next;
    uint8_t *data;
    size_t capacity; /* without LEAT_BUFFER_SLACK, which is always there behind it */
    uint64_t counted_bytes;
};
#define LEAT_BUFFER_SLACK 64

/* ---- SCAN: reads the next piece of the current file and cuts it at a record ---- */

/* A place in the data where what was decoded ahead may begin: a range of a file. */
struct leat_unit_key {
    size_t file;
    uint64_t range;
};

/* What was decoded there. Owner: the DECODE job, the run, the SCAN job: one after the other. */
struct leat_unit {
    struct leat_unit *next;
    struct leat_unit_key key;
    struct leat_input *input; /* NULL: nothing of use */
};

#define LEAT_UNITS_MAX 16 /* that are being decoded or wait to be read */

/* The spans of a pass in the order in which they are read, in place of files from front to back. */
struct leat_route {
    const struct leat_span_table *table; /* the run's; NULL: from front to back */
    const uint32_t *order;               /* [table->n_spans], the run's */
    size_t at;                           /* the next */
    const struct leat_span *span;        /* that is being read; NULL: none */
    uint64_t n_left;                     /* bytes of it that were not read yet */
    uint64_t n_records;                  /* of it that were found */
    bool is_checked; /* at the start of the pass the files were as when they were counted */
};

/* Where reading stands. Owner: the SCAN job while it runs, else the run. */
struct leat_scan {
    const struct leat_plan *plan;
    const struct leat_opener *opener;
    size_t file; /* index of the current file; == end_file: the pass has ended */
    size_t end_file;
    struct leat_input *input; /* NULL: not open yet */
    struct leat_input *first; /* of the first file, if the plan has opened it and it comes once */
    bool may_read_once;       /* nothing was read before this pass: it may be of a FIFO */
    uint64_t n_to_pass;       /* bytes of the file's text that are read and left out */
    uint64_t piece_offset;    /* of the carried bytes */
    uint64_t line;            /* of the carried bytes, from 1 */
    uint64_t record;          /* records of the pass that were handed out */
    uint8_t *carry;           /* the beginning of a record that is not whole yet */
    size_t n_carry, carry_capacity;
    bool is_skipping;               /* within a line whose beginning was a record too long */
    bool is_begun;                  /* BOM and header of the file are behind us */
    bool is_midway;                 /* the file, once opened, is gone on with at piece_offset */
    struct leat_span_table *counts; /* not NULL: records are counted there, no pieces come out */
    struct leat_route route;
    struct leat_data_watch *watch; /* the run's, of its files; NULL: they are not watched */

    /* decoded ahead */
    struct leat_unit *units;                      /* by key */
    struct leat_unit_key missing[LEAT_UNITS_MAX]; /* that are being decoded */
    size_t n_missing;
    /* Places from here on may be decoded by now: ranges of `horizon.file`, and files. */
    bool has_horizon;
    struct leat_unit_key horizon;
    size_t horizon_file;
};

/* A cut piece: where it is cut depends on where it starts alone, not on how it was come to (but for
 * what comes through a FIFO). Owner: run, then the MAP job. */
struct leat_piece {
    struct leat_buffer *buffer;
    struct leat_cache_span span;
    uint64_t record;    /* number of its first record within the pass */
    uint64_t n_marks;   /* of one larger than a block, under a limit: separators as in JSON; what a
                           parser makes of it takes more memory the more there are */
    const char *damage; /* of a span that is_damaged: why; in the buffer, behind the bytes */
};

/* Several pieces a job: a piece is read in less time than it takes to wake a thread for the next.
 */
#define LEAT_SCAN_MAX 4

struct leat_scan_job {
    struct leat_scan *scan;
    size_t max_bytes;                           /* in: that a buffer may have, at least a block's */
    size_t wants_bytes;                         /* out: not without such a buffer; 0: it has done */
    size_t block_bytes;                         /* in: of a piece; 0: as the plan says */
    size_t n_pieces;                            /* in: at most so many */
    struct leat_buffer *buffers[LEAT_SCAN_MAX]; /* in: empty; out: NULL if it went into its piece */
    struct leat_piece pieces[LEAT_SCAN_MAX];    /* out, in order; span.n_records 0: none */
    bool has_ended;                             /* out: the pass has no more */
    bool is_waiting;                            /* out: there is more, but not now */
    bool is_outdated; /* out: a file is not as it was when the spans of the route were counted */
    bool wants_unit;  /* out: not before that is decoded */
    struct leat_unit_key wanted;
};

/* On the run's thread. Takes the plan's first input, if there is one. */
void leat_scan_start(struct leat_scan *scan, struct leat_plan *plan,
                     const struct leat_opener *opener, bool may_read_once);
/* The same from behind that piece on, whose records were the last of the first n_records. */
void leat_scan_start_behind(struct leat_scan *scan, struct leat_plan *plan,
                            const struct leat_opener *opener, const struct leat_cache_span *last,
                            uint64_t n_records);
void leat_scan_stop(struct leat_scan *scan);
/* Reads files from the first on up to the end alone. */
void leat_scan_limit(struct leat_scan *scan, size_t first_file, size_t end_file);
/* The watch of its files, which it is lent; NULL: they are not watched. */
void leat_scan_watch(struct leat_scan *scan, struct leat_data_watch *watch);
/* Counts records into the table, and cuts no pieces. */
void leat_scan_count(struct leat_scan *scan, struct leat_span_table *table);
/* Reads the spans of the table in that order, in place of files from front to back. */
void leat_scan_follow_route(struct leat_scan *scan, const struct leat_span_table *table,
                            const uint32_t *order);
/* A failure is of what follows the pieces that are there. */
int leat_scan_execute(struct leat_scan_job *job, uint64_t *n_bytes, struct leat_error *err);
/* Parts of it (scan_route.c). At the start of a pass: job->is_outdated: a file is another than the
 * one that was counted. */
int leat_route_check(struct leat_scan_job *job, struct leat_error *err);
/* Goes to the next span, or to the end. */
int leat_route_enter(struct leat_scan *scan, struct leat_error *err);
/* -ESTALE: the file that is open is not as it was when it was counted. */
int leat_route_meet_file(const struct leat_scan *scan, struct leat_error *err);
/* Behind a piece: leaves the span, if it was the last of it. at_end: all bytes of the span were
 * read; a record that was too long may have been cut off before. */
int leat_route_leave(struct leat_scan_job *job, size_t index, bool at_end,
                     const struct leat_cut *piece, struct leat_error *err);
/* Reads a piece that was cut before once more, into the buffer that it has. -ESTALE: the file has
 * become shorter. */
int leat_scan_read(const struct leat_plan *plan, const struct leat_opener *opener,
                   struct leat_piece *piece, struct leat_error *err);

/* ---- DECODE: the beginning of a range of a compressed file, ahead of the scanner ---- */

struct leat_decode_job {
    const struct leat_plan *plan;
    const struct leat_opener *opener;
    struct leat_unit *unit; /* out: its input */
    size_t max_bytes;
    uint64_t pass, counted_bytes; /* the run's own */
};

int leat_decode_execute(const struct leat_decode_job *job, struct leat_error *err);

/* What the scanner knows of places that were decoded ahead (scan_units.c). Gives it one. */
void leat_scan_add_unit(struct leat_scan *scan, struct leat_unit *take_unit);
/* These places, and no others, are being decoded; nothing is known of places to come. */
void leat_scan_expect_units(struct leat_scan *scan, const struct leat_unit_key *keys, size_t n);
/* Ranges of that file from the key on, and files from `file` on, may be decoded by now too. */
void leat_scan_set_horizon(struct leat_scan *scan, struct leat_unit_key key, size_t file);
/* What was decoded at that place, or NULL. */
struct leat_unit *leat_scan_take_unit(struct leat_scan *scan, struct leat_unit_key key);
/* True if that place is being decoded, or may be by now. */
bool leat_scan_misses_unit(const struct leat_scan *scan, struct leat_unit_key key);

int leat_unit_compare(struct leat_unit_key a, struct leat_unit_key b);
/* Into a list by key. */
void leat_unit_insert(struct leat_unit **list, struct leat_unit *unit);
struct leat_unit *leat_unit_free(struct leat_unit *unit);
void leat_unit_free_all(struct leat_unit **list);

/* ---- MAP: all per-record stages over one block ---- */

struct leat_stage_count {
    uint64_t n_records, n_bytes, start_ns, busy_ns, n_errors;
    bool is_done; /* the stage was come to */
};

/* Places of what is no stage of the plan, among the counts of a MAP job. */
enum { LEAT_COUNT_LOAD, LEAT_COUNT_STORE, LEAT_COUNT_SOURCE, LEAT_COUNT_STAGES };

/* A block on its way to the cache. Owner: the job, then the run. */
struct leat_cache_item {
    struct leat_cache_item *next;
    struct leat_cache_frame frame;
    struct leat_cache_bytes block, stored;
    const uint8_t *bytes; /* one of the two: what is written */
};

/* A block that is in the cache. */
struct leat_cache_load {
    int fd; /* -1: it is not, and is made from its piece */
    uint64_t seed;
    struct leat_cache_frame frame;
    bool is_same;             /* out: what was made again is what was written once */
    bool is_repaired;         /* out: and it is in its place again */
    struct leat_error damage; /* out: code 0: none */
};

/* Rows whose values are fetched again: those of one block. */
struct leat_gather_piece {
    struct leat_block *block; /* evicted; referred to until the job is back */
    struct leat_cache_load load;
    size_t first_row, n_rows; /* into the rows of the job */
};

/* A row of one of its pieces, and where it goes. */
struct leat_gather_row {
    uint32_t row;
    uint32_t target, target_row;
};

#define LEAT_GATHER_PIECES_MAX  64
#define LEAT_GATHER_TARGETS_MAX 8

/* The MAP job of rows of several evicted blocks, in place of a block of its own. */
struct leat_gather {
    struct leat_gather_piece pieces[LEAT_GATHER_PIECES_MAX]; /* in the order of the data */
    size_t n_pieces;
    struct leat_gather_row *rows; /* by piece, target, row; each once */
    size_t n_rows;
    /* out: their values; lengths and starts are there. NULL: no row goes there. */
    struct leat_block *targets[LEAT_GATHER_TARGETS_MAX];
    struct leat_gather_want *wants; /* the run's own: who waits for them */
    size_t n_wants;
};

struct leat_map_job {
    const struct leat_plan *plan;
    struct leat_gather *gather;         /* NULL: the job is of one block, that of `piece` */
    struct leat_count_only *count_only; /* which is to have the rows; NULL: the block is new */
    const struct leat_opener *opener;   /* for what is damaged */
    struct leat_piece piece;
    const struct leat_bare_schema *bare_schema; /* of `load` and `item`; NULL: whole blocks */
    struct leat_cache_load load;
    struct leat_cache_item *item; /* filled for the cache; NULL: it is not wanted there */
    struct leat_error item_error; /* out: why it could not be filled */
    struct leat_block *block;
    struct leat_arena *scratch;
    struct leat_arena *spare; /* that the block may be left in; NULL: it stays where it is made */
    struct leat_workspace *workspace;
    uint64_t large_bytes; /* counted for a piece larger than a block, until the job is back */
    uint64_t seed, epoch;
    int stop_after; /* index into plan->map of the last stage to run; -1: only the source; n_map:
                       all */
    uint64_t (*now_ns)(void);
    uint32_t n_at_once;
    bool is_unfused; /* one stage each time that it is executed; what is in a cache is no stage */
    bool is_partial; /* out: there are more, and all of the job is to be kept for them */
    size_t n_done;   /* 0: begin; 1: the source, and so on */
    struct leat_map map;             /* the pass, from one stage to the next */
    struct leat_notes notes;         /* out */
    struct leat_stage_count *counts; /* [LEAT_COUNT_STAGES + n_map] */
};

int leat_map_execute(struct leat_map_job *job, struct leat_error *err);
/* Where the block's records come from. */
void leat_map_set_place(struct leat_block *block, const struct leat_piece *piece);
/* The same with `gather` (map_gather.c); job->block and job->piece are its own, and at the end tell
 * of the first damage that it met. */
int leat_gather_execute(struct leat_map_job *job, struct leat_error *err);
/* From the piece of the source, read again; what is in the cache is put right. */
int leat_map_make_again(struct leat_map_job *job, struct leat_error *err);

/* Parts of it (map_load.c). From the cache to the block; -ENOMEM, else it is damaged. */
int leat_load_execute(struct leat_map_job *job, struct leat_error *err);
/* From the block to job->item. */
int leat_load_make(struct leat_map_job *job, struct leat_error *err);
/* Whether a block that was made again is the same; and if it is in a cache, to its place there. */
void leat_load_repair(struct leat_map_job *job);
struct leat_cache_schema leat_map_schema(const struct leat_plan *plan);
/* The block as the bytes of a cache, or of an index. */
int leat_load_encode(const struct leat_map_job *job, struct leat_cache_bytes *bytes,
                     struct leat_error *err);

/* ---- COLLATE: batches into slots ---- */

struct leat_collate_item {
    struct leat_batch_refs *batch;
    struct leat_slot slot;
    uint64_t used_bytes; /* out */
    uint64_t n_elements; /* out: of lists that are neither masks nor annotations */
    struct leat_output_entry *output;
};

#define LEAT_READY_JOBS 2 /* of which batches wait for slots, at most */

struct leat_collate_job {
    const struct leat_plan *plan;
    size_t n_items;
    struct leat_collate_item items[LEAT_KNOB_COLLATED_MAX];
};

/* Batches that one job makes, at most. */
size_t leat_collate_max(const struct leat_plan *plan);
void leat_collate_execute(struct leat_collate_job *job);
/* Bytes that this batch takes in a slot. */
uint64_t leat_collate_need(const struct leat_plan *plan, const struct leat_batch_refs *batch);

/* ---- QUARANTINE: bad records to their file ---- */

struct leat_text;
struct leat_quarantine_job {
    const char *path;
    char *text;
    size_t n_bytes;
    int fd;          /* in, out: -1: not open yet */
    uint64_t offset; /* in the file */
};

void leat_quarantine_add(struct leat_text *text, const struct leat_plan *plan, uint32_t file,
                         const struct leat_bad_record *bad);
int leat_quarantine_execute(struct leat_quarantine_job *job, struct leat_error *err);

/* ---- CACHE: finds the cache of the source, or adds to it ---- */

enum leat_cache_task {
    LEAT_CACHE_OPEN,
    LEAT_CACHE_WRITE,  /* items */
    LEAT_CACHE_FINISH, /* all of the source is in */
    LEAT_CACHE_PASS,   /* nothing: frames were passed over, and others may have a turn */
};

struct leat_cache_job {
    enum leat_cache_task task;
    const struct leat_plan *plan;
    const struct leat_opener *opener;
    const char *folder;
    uint32_t shard, n_shards;           /* n_shards 0: all of the source, within the limits */
    const struct leat_cache_file *file; /* that the run has; its frames count for FINISH alone */
    bool is_builder;                    /* of that file */
    bool is_index, has_columns;         /* it is an index, of so much */
    bool begins_anew; /* OPEN: what a builder left of it is of no use: frames are made from the
                         first on */
    struct leat_cache_data data;   /* lent by the run */
    bool is_settled;               /* OPEN: the file is good as long as the data is the same */
    bool may_build;                /* OPEN */
    struct leat_data_watch *watch; /* OPEN: the run's */
    bool has_changed;              /* OPEN, out: the run fails, as its data changed */
    bool is_same;                  /* OPEN, out: so it is; else: */
    struct leat_cache_found found; /* OPEN, out */
    struct leat_cache_item *items; /* WRITE, placed */
    size_t n_written;              /* WRITE, out */
};

int leat_cache_execute(struct leat_cache_job *job, struct leat_error *err);

/* ---- REST: workspaces give up what is costly to hold ---- */

struct leat_rest_job {
    const struct leat_plan *plan;
    struct leat_workspace *workspaces; /* a list */
    bool is_for_good;
};

/* ---- */

struct leat_job {
    enum leat_job_kind kind;
    struct leat_job *next;          /* in the pool */
    struct leat_job_pool *pool;     /* the run's */
    uint32_t lane;                  /* the source that it is for */
    struct leat_queue_entry *entry; /* MAP: its place in the queue of blocks */
    struct leat_error error;
    uint64_t n_bytes, start_ns, busy_ns;
    struct leat_job_usage usage; /* as far as the driver measures it */
    uint32_t thread;             /* that executed it, for whoever traces */
    uint64_t (*now_ns)(void);
    union {
        struct leat_scan_job scan;
        struct leat_decode_job decode;
        struct leat_map_job map;
        struct leat_collate_job collate;
        struct leat_quarantine_job quarantine;
        struct leat_cache_job cache;
        struct leat_rest_job rest;
    };
};
