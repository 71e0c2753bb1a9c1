/* run_internal.h: the state of a run, shared by run.c (jobs), run/output.c (what goes out),
 * run/blocks.c (blocks through the order), run/cache.c, run/decode.c (compressed files ahead of the
 * scanner), run/profile.c (what takes the time) and run/tracing.c. */
#pragma once

#include "pipeline/order/mixer.h"
#include "pipeline/order/order.h"
#include "pipeline/plan/data_watch.h"
#include "pipeline/run/bare.h"
#include "pipeline/run/cache.h"
#include "pipeline/run/pools.h"
#include "pipeline/run/resident.h"
#include "pipeline/run/run.h"
#include "pipeline/run/spans.h"
#include "pipeline/run/trace.h"
#include "pipeline/work/job.h"
#include "proto/base/text.h"

#define LEAT_RUN_NOTES_MAX 64

enum leat_entry_state {
    LEAT_ENTRY_CACHED,
    LEAT_ENTRY_SCANNED,
    LEAT_ENTRY_MAPPING,
    LEAT_ENTRY_PARKED, /* some of its stages are done; is_unfused alone */
    LEAT_ENTRY_MAPPED,
    LEAT_ENTRY_PASS_END
};

/* A place in the line of blocks: blocks are consumed in the order of the data, whenever they were
 * mapped. */
struct leat_queue_entry {
    struct leat_queue_entry *next;
    enum leat_entry_state state;
    uint64_t epoch, pass;
    struct leat_piece piece;  /* its buffer: SCANNED, MAPPING; of an end: how many records it had */
    struct leat_block *block; /* MAPPED */
    uint64_t cache_generation;     /* the run's cache when it was put in line */
    struct leat_cache_file *file;  /* with the frame; NULL: made from the piece */
    struct leat_cache_frame frame; /* else what it is in a cache, but for its place; n_bytes 0:
                                      unknown */
    struct leat_cache_item *item;  /* MAPPED: not moved on to be written yet */
    uint32_t next_row, next_bad;
    uint32_t from_record, to_record; /* of its block, those that are meant; 0, UINT32_MAX: all */
    bool is_passed_over;             /* it is only wanted in the cache */
    struct leat_job *parked;         /* PARKED: with the block and its scratch memory */
    struct leat_error error;         /* of the MAP job; of an end: of reading */
};

struct leat_output_entry {
    struct leat_output_entry *next;
    struct leat_output output;
    bool is_done;
    uint32_t thread; /* that made the batch, */
    uint64_t made_ns;
};

struct leat_scratch {
    struct leat_scratch *next;
    struct leat_arena arena;
    struct leat_arena made; /* where blocks are made, before they move to one that fits them */
    uint64_t counted_bytes;
};

struct leat_slot_queue {
    struct leat_slot *slots;
    size_t first, n_slots, capacity; /* a ring */
};

/* What is decoded ahead of the scanner. How far it got changes speed and memory, never the data. */
struct leat_ahead {
    uint64_t pass;                            /* counts; jobs of an older one are of no use */
    struct leat_unit *units;                  /* decoded, and not with the scanner yet */
    struct leat_unit_key out[LEAT_UNITS_MAX]; /* being decoded in this pass */
    size_t n_out, n_busy;                     /* n_busy: jobs of all passes */
    size_t n_held;                            /* units that the scanner has */
    bool is_compressed;                       /* the file in which the scanner is */
    size_t file;                              /* where it was last */
    uint64_t range, n_ranges;
    uint64_t next_range; /* of that file, to be decoded next */
    size_t next_file;    /* whose first range is */
    uint32_t n_useless;  /* ranges of that file in a row without a frame */
    bool is_wanted;      /* the scanner waits for: */
    struct leat_unit_key wanted;
    uint64_t busy_bytes;    /* that jobs may take, */
    uint64_t scanner_bytes; /* the scanner has, */
    uint64_t counted_bytes; /* and all, in the account */
};

/* What takes the time. Its lines are those of the whole. */
struct leat_run_profile {
    struct leat_run_stage_stats *lines;
    size_t n_lines;
    uint16_t line_of[LEAT_N_ROLES]; /* the first of that role */
    uint64_t start_ns, end_ns;      /* end: 0: it goes on */
    struct leat_run_span_ns {
        uint64_t sum_ns, since_ns;
        bool is_on;
    } no_slot, is_short; /* times in which it was so */
};

/* How far it works ahead (run/horizon.c). */
struct leat_run_horizon {
    uint64_t reached;            /* the latest epoch that a trainer has begun */
    uint64_t n_next;             /* batches that may be made of the next one, */
    uint64_t n_rows;             /* and rows that these take, about */
    uint64_t n_lined_before;     /* batches of the epochs before the one that is consumed */
    uint64_t n_credit;           /* batches that trainers would be told of at once */
    uint64_t made_epoch, n_made; /* batches that were put into slots of that epoch */
};

struct leat_run_tracing {
    struct leat_trace *trace; /* NULL: none */
    uint32_t number;          /* of this run there */
    uint32_t *files;          /* [files of the plan]: their index there + 1; 0: not there yet */
    uint64_t counts_ns;       /* when they were last told */
};

struct leat_run {
    struct leat_plan *plan;
    struct leat_run_options options;
    struct leat_knobs knobs;

    /* Sources that are mixed: each has a run of its own, which reads it, and has blocks in line but
     * no order. The run of them all takes their rows, and has their workspaces and scratch memory.
     */
    struct leat_run *whole; /* of which this is a lane; NULL: none */
    uint32_t lane;
    struct leat_run **lanes; /* [n_lanes] */
    size_t n_lanes;
    struct leat_mixer mixer;

    /* reading: may be a pass ahead of the order */
    struct leat_scan scan;
    uint64_t scan_epoch, scan_pass;
    bool scan_is_out, scan_has_ended; /* ended: no further pass is wanted */
    bool has_end;                 /* a pass came to its end, or was passed over, without a job */
    uint64_t scan_end_record;     /* of the pass: behind the last that was put in line */
    struct leat_data_watch watch; /* of the files that it reads; lent to the job that reads them */
    bool scan_is_stale;           /* the job that is out reads a pass that nobody wants any more */
    struct leat_ahead ahead;

    /* the line of blocks */
    struct leat_queue_entry *first, **last;
    size_t n_entries; /* blocks, not ends */
    size_t n_ends;

    /* the order */
    struct leat_order order;
    uint64_t epoch, pass; /* being consumed */
    uint64_t n_pass_rows;
    uint64_t n_order_rows;                               /* of all passes */
    uint64_t n_epoch_bad, n_epoch_rows, n_epoch_records; /* that came to the order */
    bool is_complete;             /* the last epoch went through the order, or: */
    bool is_at_limit;             /* there are as many batches as are wanted */
    bool has_pending_end;         /* and its end of the epoch is still to be made (run/extend.c) */
    bool has_ended;               /* the last output was taken */
    struct leat_error late_error; /* behind the limit; code 0: none */

    /* batches into slots, and out */
    struct leat_slot_queue slots;
    struct leat_output_entry *first_output, **last_output;
    size_t n_ahead; /* batches among the outputs */

    struct leat_run_cache cache; /* if the plan has one */
    struct leat_run_spans spans; /* if it is read block by block */
    struct leat_residents residents;
    struct leat_bares bares;

    /* bad records */
    struct leat_text quarantine;
    bool quarantine_is_out;
    bool quarantine_has_failed;
    int quarantine_fd; /* -1: not open yet */
    uint64_t quarantine_offset;
    struct leat_error last_bad;

    struct leat_error error;
    bool has_failed, is_cancelled;
    uint32_t n_jobs, n_collate_out;
    uint64_t collate_bytes; /* of batches in COLLATE jobs */

    /* pools */
    struct leat_job *free_jobs;
    struct leat_buffer *free_buffers;
    struct leat_scratch *free_scratch;
    struct leat_workspace *free_workspaces;
    struct leat_block_pool blocks;
    struct leat_run_memory memory;

    /* what stages hold from job to job, see run/rest.h */
    uint32_t map_limit; /* MAP jobs that may be out */
    uint32_t n_at_once; /* that may be executed at the same time */
    uint32_t n_maps_out, n_parked;
    bool can_rest, rest_is_due, rest_is_out, has_rested;
    char *notes[LEAT_RUN_NOTES_MAX];
    size_t n_notes;
    char *changes[LEAT_RUN_NOTES_MAX]; /* of files; of the whole */
    size_t n_changes;

    struct leat_run_stats stats;
    struct leat_run_horizon horizon; /* of the whole */
    struct leat_run_profile profile;
    struct leat_run_tracing tracing; /* of the whole */
};

static inline struct leat_run *leat_run_whole(struct leat_run *run) {
    return run->whole ? run->whole : run;
}

/* Whether it is asked of rows in batches which records they are of. */
static inline bool leat_run_wants_places(const struct leat_run *run) {
    return run->plan->skips.records.n_ranges > 0 || run->options.only_places;
}

/* Moves mapped blocks through the order until enough batches are ready. */
void leat_run_consume(struct leat_run *run);
/* Takes note of a failure; the first counts. */
void leat_run_fail(struct leat_run *run, const struct leat_error *err);
/* The scanner goes on with the pass behind the one it is in, or ends. */
void leat_run_next_pass(struct leat_run *run, bool epoch_is_over);
/* The pass is read, and had so many records. */
void leat_run_end_scan(struct leat_run *run, uint64_t n_records);
/* Whether the source can be read as often as that, and from there. */
int leat_run_check_passes(const struct leat_plan *plan, const struct leat_run_options *options,
                          struct leat_error *err);
void leat_run_release_piece(struct leat_run *run, struct leat_piece *piece);
struct leat_queue_entry *leat_run_add_entry(struct leat_run *run, enum leat_entry_state state,
                                            const struct leat_piece *piece,
                                            const struct leat_error *err); /* NULL: no memory */
bool leat_run_wants_epoch(const struct leat_run *run, uint64_t epoch);
/* All of a pass is in, or the order wants no more of it: run->epoch, run->pass are at the next, and
 * the scanner. epoch_is_done: a stage behind `repeat` wants no more. */
void leat_run_end_pass(struct leat_run *run, bool epoch_is_done);
/* The end of the epoch that is pending. */
void leat_run_end_epoch(struct leat_run *run);
/* A failure of the order: behind all batches that it has closed. */
void leat_run_fail_order(struct leat_run *run, const struct leat_error *err);
/* If as many batches as are wanted are in line, their end is next (run/extend.c). */
void leat_run_stop_at_limit(struct leat_run *run);
/* The pass that was being consumed is over, and another is wanted: what is read and not wanted is
 * let go, and the scanner jumps ahead of it. */
void leat_run_skip_scan(struct leat_run *run, uint64_t epoch, uint64_t pass);
/* The scanner reads what is this run's. */
void leat_run_limit_scan(struct leat_run *run);
/* Meets the bad records of the entry in front of that row (UINT32_MAX: all that are left). */
int leat_run_meet_bad_before(struct leat_run *run, struct leat_queue_entry *entry, uint32_t row);
/* What is wrong with it, and where. */
void leat_run_bad_error(const struct leat_run *run, uint32_t file,
                        const struct leat_bad_record *bad, struct leat_error *err);
void leat_run_pop_entry(struct leat_run *run);
/* Takes over what a MAP job noted (run/rest.c). */
void leat_run_add_notes(struct leat_run *run, const struct leat_notes *notes);
/* Takes over what a job found to have changed. */
void leat_run_take_watched(struct leat_run *run);
/* Reading has failed: the error comes behind all that was read before. */
void leat_run_fail_scan(struct leat_run *run, const struct leat_error *err);
/* No more of its rows are taken: its records up to there were read in this epoch. */
void leat_run_count_records(struct leat_run *run, const struct leat_queue_entry *entry);
/* Whether rows can be pushed into the order now. */
bool leat_run_wants_rows(const struct leat_run *run);
/* Of a pass that is over. */
bool leat_run_is_stale(const struct leat_run *run, const struct leat_queue_entry *entry);
void leat_run_out_of_memory(struct leat_run *run);
/* A place in the line of what goes out; NULL: no memory. */
struct leat_output_entry *leat_run_add_output(struct leat_run *run,
                                              const struct leat_output *output, bool is_done);
/* Ends of epochs that are next in line go straight to the outputs. */
void leat_run_move_ends(struct leat_run *run);
/* Whether what is in line may still come out. */
bool leat_run_has_line(const struct leat_run *run);
/* True if the first batch in line could be made now, in a slot that is large enough. */
bool leat_run_has_pending(const struct leat_run *run);
/* How many batches may be put into slots now. */
size_t leat_run_slot_room(const struct leat_run *run);

/* How far it works ahead (run/horizon.c). No more rows are wanted now, of the whole; */
bool leat_run_is_at_horizon(const struct leat_run *whole);
/* whether a pass of that epoch may be read on, the block begun, the first batch in line made. */
bool leat_run_may_scan(const struct leat_run *run, uint64_t epoch);
bool leat_run_may_begin(const struct leat_run *run, const struct leat_queue_entry *entry);
bool leat_run_may_make_first(const struct leat_run *run);
void leat_run_count_made(struct leat_run *run, uint64_t epoch);
void leat_run_horizon_init(struct leat_run *run);
/* Batches in slots that nobody has taken yet, at most. */
uint64_t leat_run_max_ahead(const struct leat_run *run);

/* The profile (run/profile.c). */
int leat_run_profile_init(struct leat_run *run, struct leat_error *err);
void leat_run_profile_deinit(struct leat_run *run);
/* What a job brings back. */
void leat_run_profile_job(struct leat_run *run, const struct leat_job *job);
/* leat_run_consume, measured. */
void leat_run_profile_consume(struct leat_run *run);
/* After each change: whether it has ended, or waits for a slot. */
void leat_run_profile_watch(struct leat_run *run, bool has_ended);
void leat_run_profile_get_stats(const struct leat_run *run, struct leat_run_stats *stats);

/* The trace, if there is one (run/tracing.c). A job, before what it brings is taken. */
void leat_run_trace_job(struct leat_run *whole, const struct leat_job *job);
void leat_run_trace_order(struct leat_run *run, uint64_t n_rows, uint64_t start_ns,
                          uint64_t duration_ns);
void leat_run_trace_output(struct leat_run *run, const struct leat_output_entry *entry);

/* Jobs that read and map: 0 or LEAT_RUN_JOB. */
int leat_run_scan_job(struct leat_run *run, struct leat_job **ret_job);
int leat_run_decode_job(struct leat_run *run, struct leat_job **ret_job);
int leat_run_map_job(struct leat_run *run, struct leat_job **ret_job);
/* What a SCAN job read into is there for the next (run.c). */
void leat_run_give_buffers(struct leat_run *run, struct leat_scan_job *scan);

/* Sources that are mixed (run/mix.c); nothing, if there are none. */
struct leat_run *leat_run_new_lane(struct leat_run *whole, uint32_t lane,
                                   const struct leat_run_options *options); /* NULL: no memory */
int leat_run_mix_init(struct leat_run *run, struct leat_error *err);
uint64_t leat_run_lane_jobs(const struct leat_run *run, uint64_t n_jobs);
void leat_run_mix_free(struct leat_run *run);
/* All lanes begin anew. */
void leat_run_mix_next_pass(struct leat_run *run, bool epoch_is_over);
void leat_run_mix_consume(struct leat_run *run);
int leat_run_mix_job(struct leat_run *run, struct leat_job **ret_job);
uint32_t leat_run_mix_n_blocks(const struct leat_run *run);

/* The next place that is worth decoding ahead; false: none, or enough is. */
bool leat_run_decode_next(struct leat_run *run, struct leat_decode_job *ret_decode);
/* Takes the job's unit. */
void leat_run_decode_done(struct leat_run *run, struct leat_decode_job *decode);
/* Gives the scanner what there is; false: it waits for what is being decoded. */
bool leat_run_decode_hand_over(struct leat_run *run);
/* After a SCAN job: where the scanner is now. */
void leat_run_decode_follow(struct leat_run *run, const struct leat_scan_job *scan);
/* A new pass, or the end. */
void leat_run_decode_reset(struct leat_run *run);
