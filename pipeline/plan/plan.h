/* plan.h: a bound spec, typed and laid out: `leatctl explain` prints it, and a run is made from it.
 *
 * Building a plan reads files (vocabularies, the head of the data) and may block, so the daemon
 * builds plans on the pool. Then the plan is immutable and shared by reference count. Only one
 * thread (the loop) touches the count, and the input that the first run takes.
 */
#pragma once

#include "pipeline/io/input.h"
#include "pipeline/plan/data_digest.h"
#include "pipeline/plan/set.h"
#include "pipeline/plan/skips.h"
#include "pipeline/spec/stream_options.h"
#include "pipeline/stage/stage.h"

struct leat_plan_stage {
    const struct leat_stage_ops *ops;
    struct leat_config *config;
    size_t index;        /* in plan->stages */
    size_t position;     /* in its list in the spec */
    size_t source;       /* 1 + the index of the source that it is a stage of; 0: of the stream */
    uint64_t kind_index; /* among stages of the same name */
    /* For a filter behind an ORDER stage, MAP writes a bool here, by which the order chain drops
     * rows; -1: none. */
    int32_t filter_column;
    size_t n_fields_after; /* schema after this stage: names and columns */
    char (*names_after)[LEAT_NAME_MAX + 1];
    uint32_t *columns_after;
};

/* A source that reads files. */
struct leat_plan_source {
    const struct leat_stage_ops *ops;
    struct leat_source_config *config;
    struct leat_cutter cutter;
    size_t first_file; /* in plan->source->files; they end where those of the next begin */
    uint32_t lane;     /* index of the mixed source that it belongs to */
    /* Its own stages as written, then those of the concat that it stands in; NULL: none. */
    const struct leat_value *stages[2];
    /* its columns that move to the common ones after parsing; NULL: it is the only source */
    struct leat_plan_move {
        uint32_t from, to;
    } * moves;
    size_t n_moves;
    bool *is_kept;         /* [n_columns], while it parses; NULL: as in the plan */
    size_t n_probed_bytes; /* of the first file, in which its fields were found */
    uint64_t record_bytes; /* mean size of the first records; 0: unknown */
};

/* Says that a stage makes a column, or reads it. */
struct leat_plan_link {
    uint32_t stage; /* 0: the source; else its index + 1 */
    uint32_t column;
    int32_t result; /* of what is read: the only column that the stage makes of it; -1: any */
};

struct leat_plan_tensor {
    char name[LEAT_NAME_MAX + 1];
    uint32_t column;
    enum leat_dtype dtype;
    uint32_t ndim;
    int64_t shape[LEAT_TENSOR_MAX_NDIM]; /* -1: varies */
};

/* Rises with each change that gives some stream other batches, of the same spec and data. Ranks
 * with different versions do not fit together. */
#define LEAT_ORDER_VERSION 1

struct leat_plan {
    uint32_t n_refs;
    struct leat_spec *spec;
    struct leat_stream_options options;
    const struct leat_stage_ops *source_ops;
    struct leat_source_config *source; /* with the files of all sources, one after the other */
    size_t n_sources;
    struct leat_plan_source *sources; /* [n_sources]: the source, or those that it is composed of */
    const struct leat_mixing *mixing; /* NULL: sources are read one after the other */
    struct leat_block_order blocks;   /* the order in which their records are read */
    struct leat_input_limits limits;
    bool is_compressed;             /* the first file of some source is */
    uint64_t decoder_bytes;         /* memory that reading such files takes */
    uint64_t record_bytes;          /* the largest of its sources */
    bool is_one_pass;               /* the first file is a FIFO */
    struct leat_input *first_input; /* with the bytes that were read; NULL once a run took it */
    char *quarantine_path;
    char *cache_path;     /* NULL: no cache */
    struct leat_set *set; /* at cache_path, in place of the source; NULL: that is a cache */
    char *index_path;     /* NULL: none is given */

    struct leat_field *fields; /* [n_columns] */
    uint32_t n_columns;
    uint32_t n_marks;          /* the last columns: verdicts of filters behind an ORDER stage */
    bool *is_needed, *is_kept; /* [n_columns] */

    struct leat_plan_link *makes, *reads;
    size_t n_makes, n_reads;

    size_t n_stages;
    size_t n_all_stages; /* with those of the sources, which follow those of the stream */
    struct leat_plan_stage *stages; /* as written */
    size_t n_map, n_order;
    struct leat_plan_stage **map; /* in execution order: all MAP stages, hoisted */
    size_t n_source_map; /* the first so many are stages of single sources, before columns are
                         joined */
    struct leat_plan_stage **order; /* ORDER stages and filters behind them */
    size_t n_source_fields;         /* schema of the source */
    char (*source_names)[LEAT_NAME_MAX + 1];
    uint32_t *source_columns;

    size_t n_tensors;
    struct leat_plan_tensor *tensors;
    bool is_batched;
    uint64_t batch_size;     /* rows, at most */
    uint64_t max_tokens;     /* rows times the longest of them, padded, at most; 0: any number */
    const uint32_t *counted; /* [n_counted]: the lists that max_tokens limits */
    size_t n_counted;
    const struct leat_bucketing *bucketing; /* NULL: rows are batched in their order */
    bool drop_last;
    uint64_t prefetch_size;
    bool has_prefetch; /* the spec gives it */
    bool has_repeat;
    size_t repeat_at;      /* index in `order` */
    uint64_t repeat_count; /* 0: without end */
    bool has_n_rows;       /* set by leat_steps_peek() and leat_steps_count() */
    uint64_t n_rows;       /* rows of a pass, before the order */

    struct leat_skips skips; /* steps and records that are removed at the end of the order */
    size_t slot_bytes;       /* bytes of a full batch; if not is_bounded, those of the first ring */
    bool is_bounded;         /* no batch can be larger than slot_bytes */
    uint32_t n_slots;        /* not counting the window of the trainer */
    uint32_t window;         /* for small batches: that a trainer may hold, unless it says so */
    char *spec_text;         /* see spec_text.h */
    char *left_out;          /* fields of the data that leat does not read, and why; "": none */
    uint8_t spec_digest[LEAT_DIGEST_BYTES];
    struct leat_data *data; /* set by leat_plan_identify_data(); NULL before, and of a FIFO */
    uint64_t n_data_bytes;  /* of all its files; 0: unknown */
    uint8_t data_digest[LEAT_DIGEST_BYTES]; /* all zero as long as `data` is NULL */
    /* Digest of `skips`, which spec_digest does not cover: a position stays valid when something is
     * skipped. All zero: nothing is. */
    uint8_t skips_digest[LEAT_DIGEST_BYTES];
    uint8_t record_digest[LEAT_DIGEST_BYTES]; /* of what is done to each record, for the cache */
};

/* Builds the plan of a copy of the spec. Without batches it does not ask if rows fit into them, and
 * there are no tensors and slots. Errors have path streams.NAME.stages[i].KIND.ARG. 0 or -errno.
 * May block. */
int leat_plan_new(const struct leat_spec *spec, const struct leat_opener *opener, bool with_batches,
                  struct leat_plan **ret_plan, struct leat_error *err);

/* The facts about a block that the order needs to pass its rows on the way to the first step of a
 * run, without making them. */
struct leat_fast_forward_rule {
    bool is_blind;    /* the order only asks how many rows there are */
    bool are_counted; /* is_blind, and each record is a row: it suffices to cut the records */
    /* The stage or option that looks at rows, and the one by which a record may be no row; NULL:
     * none. */
    const char *looks, *drops;
};
struct leat_fast_forward_rule leat_plan_fast_forward(const struct leat_plan *plan);
/* The number of lanes of the order (order/order.h). */
static inline size_t leat_plan_n_lanes(const struct leat_plan *plan) {
    return plan->blocks.n_lanes > 0 ? plan->blocks.n_lanes : 1;
}
/* Rows that an order stage holds at most, and bytes of its state, of all lanes. */
static inline void leat_plan_holding(const struct leat_plan *plan,
                                     const struct leat_plan_stage *stage, uint64_t *ret_rows,
                                     uint64_t *ret_bytes) {
    *ret_rows = *ret_bytes = 0;
    if (stage->filter_column < 0 && stage->ops->holding)
        stage->ops->holding(stage->config, ret_rows, ret_bytes);
    *ret_rows *= leat_plan_n_lanes(plan);
    *ret_bytes *= leat_plan_n_lanes(plan);
}
/* The first stage that gives other values in each epoch, or with another seed; NULL: none does. */
const struct leat_plan_stage *leat_plan_find_varying(const struct leat_plan *plan);
/* Marks the column as needed, with those that it is made of, down to one in the block. */
void leat_plan_need(struct leat_plan *plan, uint32_t column);
/* The source of that file. */
const struct leat_plan_source *leat_plan_source_of(const struct leat_plan *plan, size_t file);
/* Opens a file of that source as the scanner sees it. 0 or -errno. */
int leat_plan_open_input(const struct leat_plan *plan, const struct leat_plan_source *source,
                         const struct leat_opener *opener, const char *path,
                         struct leat_input **ret_input, struct leat_error *err);
/* Reads the bytes in which the fields of a source were found, and shortens them: see shorten_head()
 * of a source. *ret_bytes is malloc'ed. */
int leat_plan_read_head(const struct leat_plan *plan, const struct leat_plan_source *source,
                        const struct leat_opener *opener, uint8_t **ret_bytes, size_t *ret_n_bytes,
                        struct leat_error *err);
/* The files of one of the mixed sources: *ret_first up to *ret_end. */
void leat_plan_lane_files(const struct leat_plan *plan, uint32_t lane, size_t *ret_first,
                          size_t *ret_end);
/* The files of the plan, for leat_data_new(). */
void leat_plan_data_scope(const struct leat_plan *plan, bool is_full, bool must_read,
                          struct leat_data_scope *ret_scope);
/* Finds out what the plan's data is: plan->data and plan->data_digest, before the plan is shared.
 * known: as of leat_data_new(). Files that cannot be read are no failure. A FIFO has no digest. */
int leat_plan_identify_data(struct leat_plan *plan, const struct leat_opener *opener,
                            const struct leat_data *known, struct leat_error *err);
/* Finds out how large all of it is, plan->n_data_bytes, and no more. */
void leat_plan_measure_data(struct leat_plan *plan, const struct leat_opener *opener);
struct leat_plan *leat_plan_ref(struct leat_plan *plan);
struct leat_plan *leat_plan_unref(struct leat_plan *plan);

/* Checks all that can be checked without reading data: stage names, arguments, their order. */
int leat_plan_check(const struct leat_spec *spec, struct leat_error *err);

/* True if the stage runs in the pass over a block. */
static inline bool leat_plan_runs_in_map(const struct leat_plan *plan,
                                         const struct leat_plan_stage *stage) {
    for (size_t i = 0; i < plan->n_map; i++)
        if (plan->map[i] == stage)
            return true;
    return false;
}

/* The field whose lengths give the shape: for a mask, the list that it masks. */
static inline const struct leat_field *leat_plan_shaping(const struct leat_plan *plan,
                                                         const struct leat_field *field) {
    while (field->made == LEAT_MADE_AS_MASK || field->made >= LEAT_MADE_AS_POSITIONS)
        field = &plan->fields[field->of];
    return field;
}
