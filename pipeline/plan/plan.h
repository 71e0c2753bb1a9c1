/* plan.h: a bound spec, typed and laid out: what `leatctl explain` prints and what a run is made
 * from.
 *
 * Building a plan reads files (vocabularies, the head of the data): it may block, so the daemon
 * builds plans on the pool. After that it is immutable and shared by reference count; the count,
 * and the input that the first run takes, are touched by one thread (the loop) only.
 */
#pragma once

#include "pipeline/io/input.h"
#include "pipeline/plan/skips.h"
#include "pipeline/spec/stream_options.h"
#include "pipeline/stage/stage.h"

struct leat_data;

struct leat_plan_stage {
    const struct leat_stage_ops *ops;
    struct leat_config *config;
    size_t index;        /* in plan->stages */
    size_t position;     /* in the list that the spec has it in */
    size_t source;       /* 1 + the index of the source whose stage it is; 0: it is the stream's */
    uint64_t kind_index; /* among stages of the same name */
    int32_t filter_column; /* an is_filter stage behind an ORDER stage: MAP writes a bool here, the
                              order chain drops by it; -1 */
    size_t n_fields_after; /* schema after this stage: names and columns */
    char (*names_after)[LEAT_NAME_MAX + 1];
    uint32_t *columns_after;
};

/* A source that reads files. */
struct leat_plan_source {
    const struct leat_stage_ops *ops;
    struct leat_source_config *config;
    struct leat_cutter cutter;
    size_t first_file; /* of plan->source->files; they end where those of the next begin */
    uint32_t lane;     /* which of the sources that are mixed it belongs to */
    /* Its own stages as written, then those of the concat that it stands in; NULL: none. */
    const struct leat_value *stages[2];
    /* its columns that are moved to those of all sources, once it has parsed; NULL: it is alone */
    struct leat_plan_move {
        uint32_t from, to;
    } * moves;
    size_t n_moves;
    bool *is_kept; /* [n_columns], while it parses; NULL: as of the plan */
};

/* A stage makes a column, or reads it. */
struct leat_plan_link {
    uint32_t stage; /* 0: the source; else its index + 1 */
    uint32_t column;
};

struct leat_plan_tensor {
    char name[LEAT_NAME_MAX + 1];
    uint32_t column;
    enum leat_dtype dtype;
    uint32_t ndim;
    int64_t shape[LEAT_TENSOR_MAX_NDIM]; /* -1: varies */
};

struct leat_plan {
    uint32_t n_refs;
    struct leat_spec *spec;
    struct leat_stream_options options;
    const struct leat_stage_ops *source_ops;
    struct leat_source_config *source; /* with the files of all sources, in one line */
    size_t n_sources;
    struct leat_plan_source *sources; /* [n_sources]: itself, or those that it is composed of */
    const struct leat_mixing *mixing; /* NULL: they are read one after the other */
    struct leat_block_order blocks;   /* in which their records are read */
    struct leat_input_limits limits;
    bool is_compressed;             /* the first file of a source, as far as was looked */
    uint64_t decoder_bytes;         /* that reading those takes */
    uint64_t record_bytes;          /* of its records, the mean of the first ones; 0: unknown */
    bool is_one_pass;               /* the first file is a FIFO */
    struct leat_input *first_input; /* with what was read of it; NULL once a run has taken it */
    char *quarantine_path;
    char *cache_path; /* NULL: no cache */
    char *index_path; /* NULL: none is given */

    struct leat_field *fields; /* [n_columns] */
    uint32_t n_columns;
    uint32_t n_marks;          /* the last columns: the verdicts of filters behind an ORDER stage */
    bool *is_needed, *is_kept; /* [n_columns] */

    struct leat_plan_link *makes, *reads;
    size_t n_makes, n_reads;

    size_t n_stages;
    size_t n_all_stages;            /* with those of the sources, which stand behind the stream's */
    struct leat_plan_stage *stages; /* as written */
    size_t n_map, n_order;
    struct leat_plan_stage **map; /* in execution order: all MAP stages, hoisted */
    size_t n_source_map; /* the first of them: stages of single sources, which run before the
                            columns of the sources are joined */
    struct leat_plan_stage **order; /* ORDER stages and filters behind them */
    size_t n_source_fields;         /* schema of the source */
    char (*source_names)[LEAT_NAME_MAX + 1];
    uint32_t *source_columns;

    size_t n_tensors;
    struct leat_plan_tensor *tensors;
    bool is_batched;
    uint64_t batch_size;     /* rows, at most */
    uint64_t max_tokens;     /* rows times the longest of them, padded, at most; 0: any number */
    const uint32_t *counted; /* [n_counted]: the lists of which max_tokens is asked */
    size_t n_counted;
    const struct leat_bucketing *bucketing; /* NULL: rows come together as they come */
    bool drop_last;
    uint64_t prefetch_size;
    bool has_prefetch; /* it was given */
    bool has_repeat;
    size_t repeat_at;      /* index in `order` */
    uint64_t repeat_count; /* 0: without end */
    bool has_n_rows;       /* once somebody has looked (steps.h) and found: */
    uint64_t n_rows;       /* of a pass, in front of the order */

    struct leat_skips skips; /* what is taken out of the sequence at its end */
    size_t slot_bytes; /* of a full batch; if not is_bounded, what the first ring is made with */
    bool is_bounded;   /* no batch can be larger than slot_bytes */
    uint32_t n_slots;  /* without the window of the trainer */
    char *spec_text;   /* see spec_text.h */
    char *left_out;    /* fields of the data that leat does not read, and why; "": none */
    uint8_t spec_digest[LEAT_DIGEST_BYTES];
    struct leat_data *data; /* once somebody has looked (leat_data_identify); NULL: nobody has, or
                               it comes through a FIFO */
    uint64_t n_data_bytes;  /* of all its files; 0: nobody has looked */
    uint8_t data_digest[LEAT_DIGEST_BYTES]; /* all zero then */
    /* Of `skips`, which spec_digest does not have in it: a position outlives that something is
     * taken out. All zero: nothing is. */
    uint8_t skips_digest[LEAT_DIGEST_BYTES];
    uint8_t record_digest[LEAT_DIGEST_BYTES]; /* of what is done to each record, for the cache */
};

/* Builds the plan of a copy of the spec. Errors have path streams.NAME.stages[i].KIND.ARG. 0 or
 * -errno. May block. */
int leat_plan_new(const struct leat_spec *spec, const struct leat_opener *opener,
                  struct leat_plan **ret_plan, struct leat_error *err);
/* The same up to rows, for those who look at them alone: whether they fit into batches is not
 * asked, and there are no tensors and slots. */
int leat_plan_new_of_rows(const struct leat_spec *spec, const struct leat_opener *opener,
                          struct leat_plan **ret_plan, struct leat_error *err);
/* The first stage that gives other values in each epoch, or with another seed; NULL: none does. */
const struct leat_plan_stage *leat_plan_find_varying(const struct leat_plan *plan);
/* The source that the file is of. */
const struct leat_plan_source *leat_plan_source_of(const struct leat_plan *plan, size_t file);
/* A file of that source, as the scanner sees it. 0 or -errno. */
int leat_plan_open_input(const struct leat_plan *plan, const struct leat_plan_source *source,
                         const struct leat_opener *opener, const char *path,
                         struct leat_input **ret_input, struct leat_error *err);
/* The files of one of the sources that are mixed: *ret_first up to *ret_end. */
void leat_plan_lane_files(const struct leat_plan *plan, uint32_t lane, size_t *ret_first,
                          size_t *ret_end);
struct leat_plan *leat_plan_ref(struct leat_plan *plan);
struct leat_plan *leat_plan_unref(struct leat_plan *plan);

/* Checks all that can be checked without reading data: stage names, arguments, their order. */
int leat_plan_check(const struct leat_spec *spec, struct leat_error *err);

/* The field whose lengths give the shape: of a mask, the list that it masks. */
static inline const struct leat_field *leat_plan_shaping(const struct leat_plan *plan,
                                                         const struct leat_field *field) {
    while (field->made == LEAT_MADE_AS_MASK || field->made >= LEAT_MADE_AS_POSITIONS)
        field = &plan->fields[field->of];
    return field;
}
