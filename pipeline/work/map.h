/* map.h: the MAP job: all per-record stages over one block, or its load from a cache. Any thread.
 */
#pragma once

#include "pipeline/cache/block.h"
#include "pipeline/cache/index.h"
#include "pipeline/work/scan.h"

/* MAP stages keep this from job to job, such as caches that help only when warm.
 *
 * A run has one workspace for each MAP job that runs at once, and hands it from job to job
 * (leat_job_start, leat_run_complete). The first job that runs a stage with a workspace makes the
 * stage's part of it, on its own thread, as that may take time. Owner: the job that holds it, else
 * the run. */
struct leat_workspace {
    struct leat_workspace *next; /* in the run's pool */
    struct leat_scan_kept kept;  /* the file of the last piece that was read by a MAP job */
    void *of_stage[];            /* [n_map]; NULL: not made yet, or the stage keeps nothing */
};

/* NULL: no memory. plan->n_map must not change while the workspace exists. */
struct leat_workspace *leat_workspace_new(const struct leat_plan *plan);
struct leat_workspace *leat_workspace_free(struct leat_workspace *workspace,
                                           const struct leat_plan *plan);

/* Calls workspace_idle of all stages, for a list of workspaces. Any thread. */
void leat_workspace_idle(struct leat_workspace *first, const struct leat_plan *plan, bool is_final);

/* The part of the stage plan->map[index], which is made if it is missing; NULL: the stage keeps
 * nothing. 0 or -errno. Any thread. */
int leat_workspace_get(struct leat_workspace *workspace, const struct leat_plan *plan, size_t index,
                       void **ret_memory, struct leat_error *err);

struct leat_stage_count {
    uint64_t n_records, n_bytes, start_ns, busy_ns, n_errors;
    uint64_t begun_ns; /* while it runs; `start_ns` is that of the first block */
    bool is_done;      /* The stage ran. */
};

/* Indexes into the counts of a MAP job; stages of the plan begin at LEAT_COUNT_STAGES. */
enum { LEAT_COUNT_LOAD, LEAT_COUNT_STORE, LEAT_COUNT_SOURCE, LEAT_COUNT_STAGES };

/* A block on its way to the cache. Owner: the job, then the run. */
struct leat_cache_item {
    struct leat_cache_item *next;
    struct leat_cache_frame frame;
    struct leat_cache_bytes block, stored;
    const uint8_t *bytes; /* of one of the two, to be written */
};

/* A block in the cache. */
struct leat_cache_load {
    bool is_there; /* false: the block is made from its piece */
    int fd;
    const struct leat_object *object; /* in place of fd, of a set in a store; NULL: none */
    uint64_t seed;
    struct leat_cache_frame frame;
    bool is_same;             /* out: the block that was made again has the bytes of the frame */
    bool is_repaired;         /* out: these were written to the cache again */
    struct leat_error damage; /* out: code 0: none */
};

/* Where the frame is loaded from; file NULL: nowhere. */
struct leat_cache_load leat_cache_load(const struct leat_cache_file *file,
                                       const struct leat_cache_frame *frame);

/* The wanted rows of one evicted block. */
struct leat_gather_piece {
    struct leat_block *block; /* referred to until the job is back */
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

/* A MAP job that fetches rows of several evicted blocks. */
struct leat_gather {
    struct leat_gather_piece pieces[LEAT_GATHER_PIECES_MAX]; /* in the order of the data */
    size_t n_pieces;
    struct leat_gather_row *rows; /* sorted by piece, target and row, each once */
    size_t n_rows;
    /* The job fills their values; lengths and starts are set. NULL: no row goes there. */
    struct leat_block *targets[LEAT_GATHER_TARGETS_MAX];
    struct leat_gather_want *wants; /* row_fetch.c */
    size_t n_wants;
};

/* The wanted rows of a block in a cache. */
struct leat_rows_piece {
    struct leat_cache_load load;
    uint32_t n_block_rows;          /* that the block has to have */
    const struct leat_block *known; /* whose lengths it has to have; NULL: lengths are unknown */
    const uint32_t *wanted;         /* [n_wanted]: ascending */
    size_t n_wanted;
    struct leat_error *error; /* out: malloc'ed: its first bad record; NULL: none, or it is known */
};

/* A MAP job that makes one block of wanted rows of several blocks in a cache: those of the first
 * piece, then those of the next. */
struct leat_rows {
    size_t n_pieces, n_rows;
    struct leat_rows_piece pieces[];
};

#define LEAT_PARTS_MAX 32

/* One of several count-only blocks that get their rows by a job. */
struct leat_map_part {
    struct leat_count_only *count_only;
    struct leat_block *block; /* that is made */
    struct leat_error error;  /* out; code 0: none */
};

struct leat_map_job {
    const struct leat_plan *plan;
    struct leat_gather *gather;  /* NULL: the job makes one block */
    struct leat_rows *rows;      /* NULL: the block is that of `piece` */
    struct leat_map_part *parts; /* [n_parts]: made one after the other; with `rows` there is one */
    size_t n_parts;              /* 0: the block is new */
    const uint32_t *wanted;      /* [n_wanted]: ascending; only these records are made; NULL: all */
    size_t n_wanted;
    const struct leat_opener *opener; /* for damaged blocks */
    struct leat_piece piece;
    const struct leat_index_schema *index_schema; /* of `load` and `item`; NULL: whole blocks */
    struct leat_cache_load load;
    struct leat_cache_item *item; /* out: the block for the cache; NULL: it does not go there */
    struct leat_error item_error; /* out: why the item could not be filled */
    struct leat_block *block;
    struct leat_buffer
        *lent; /* for a piece that is read again; NULL: the job takes memory of its own */
    struct leat_arena *scratch;
    struct leat_arena *spare; /* that the block may move to; NULL: it stays */
    struct leat_workspace *workspace;
    uint64_t large_bytes; /* counted for a piece larger than a block until the job is back */
    uint64_t seed, epoch;
    int stop_after; /* index into plan->map of the last stage; -1: only the source; n_map: all */
    uint64_t (*now_ns)(void);
    uint32_t n_at_once;
    bool without_values;     /* A block that is loaded gets scalars and lengths, but no lists. */
    bool is_unfused;         /* Each execution runs one stage; loading from a cache is one. */
    bool is_partial;         /* out: stages are left, and the job is kept for them */
    size_t n_done;           /* stages, with the source */
    struct leat_map map;     /* kept from one stage to the next */
    struct leat_notes notes; /* out */
    struct leat_stage_count *counts; /* [LEAT_COUNT_STAGES + n_map] */
};

int leat_map_execute(struct leat_map_job *job, struct leat_error *err);
/* Sets where the records of the block come from. */
void leat_map_set_place(struct leat_block *block, const struct leat_piece *piece);
/* Executes a job with `gather` (map_gather.c), which uses job->block as memory. At the end
 * job->load and job->piece describe the first damaged block. */
int leat_gather_execute(struct leat_map_job *job, struct leat_error *err);
/* Moves the block to memory of just its size, and the memory that it was made in to job->spare. */
void leat_map_fit(struct leat_map_job *job);
/* Executes a job with `rows` (map_rows.c). At the end job->load and job->piece describe the last
 * damaged block, if one was. */
int leat_rows_execute(struct leat_map_job *job, struct leat_error *err);
/* Makes the block from its piece, which is read again; repairs the cache. */
int leat_map_make_again(struct leat_map_job *job, struct leat_error *err);
/* Sets the error of a block whose rows are not those that the order has seen. fault: the cause;
 * NULL or without a code if there is none. */
int leat_map_fail_changed(const struct leat_map_job *job, const struct leat_error *fault,
                          struct leat_error *err);

/* Parts of it (map_load.c). Loads the block from the cache; an error but -ENOMEM is damage. */
int leat_load_execute(struct leat_map_job *job, struct leat_error *err);
/* Reads the bytes of a block into the arena. */
int leat_load_read(const struct leat_plan *plan, const struct leat_cache_load *load,
                   struct leat_arena *arena, struct leat_arena *scratch, const uint8_t **ret_data,
                   struct leat_error *err);
/* Encodes the block into job->item. */
int leat_load_make(struct leat_map_job *job, struct leat_error *err);
/* Sets is_same of a block that was made again; if it is, writes it to its place in the cache. */
void leat_load_repair(struct leat_map_job *job);
struct leat_cache_schema leat_map_schema(const struct leat_plan *plan);
/* Encodes the block for a cache, or for an index. */
int leat_load_encode(const struct leat_map_job *job, struct leat_cache_bytes *bytes,
                     struct leat_error *err);
