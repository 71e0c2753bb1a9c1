/* stage.h: what a source or a stage is.
 *
 * A stage is one file in pipeline/stages/ that ends in one `const struct leat_stage_ops
 * leat_stage_NAME`, and one line LEAT_STAGE(NAME) in stages.def. A source is the same in
 * pipeline/sources/ and sources.def. A stage never calls another.
 *
 * MAP stages are pure functions over one block in a worker. ORDER stages permute references on the
 * run's thread and never see sample data. COLLATE stages are properties of how batches are made
 * (pad, batch, prefetch): they have only a plan. What an ORDER or COLLATE stage must know of each
 * record, such as a hash, its own `map` finds out in the pass.
 *
 * Life of a stage: bind (table) -> check -> load (files; may block) -> plan (schema in, schema out)
 * -> map / push ... -> unload. After plan the config is immutable and shared by all workers.
 */
#pragma once

#include "pipeline/block/block.h"
#include "pipeline/cut/cutter.h"
#include "pipeline/io/contents.h"
#include "pipeline/io/files.h"
#include "pipeline/io/input.h"
#include "pipeline/io/opener.h"
#include "pipeline/spec/bind.h"
#include "proto/base/blake2b.h"
#include "proto/base/rng.h"

enum leat_stage_kind {
    LEAT_STAGE_SOURCE,
    LEAT_STAGE_MAP,
    LEAT_STAGE_ORDER,
    LEAT_STAGE_COLLATE,
};

/* The way in which `bucket` groups rows of similar lengths. */
struct leat_bucketing {
    uint32_t column;
    const uint64_t *boundaries; /* [n_boundaries], ascending; none: by window */
    size_t n_boundaries;
    uint64_t window; /* rows that are sorted together */
    bool shuffles;   /* the batches of a window */
    uint64_t seed;
};

struct leat_planner;
struct leat_text;

/* The schema while a stage is planned. All return 0 or an error placed at argument `arg` of
 * `config`. */
int leat_planner_find(struct leat_planner *planner, const struct leat_config *config,
                      const char *arg, const char *name, uint32_t *ret_column,
                      struct leat_error *err); /* unknown names: the nearest, and what there is */
const struct leat_field *leat_planner_field(const struct leat_planner *planner, uint32_t column);
/* True if there is a field of that name. It does not count as read. */
bool leat_planner_has(const struct leat_planner *planner, const char *name);
/* Adds a column of that name, which hides an earlier field of the same name. The caller may fill
 * *ret_field. */
int leat_planner_add(struct leat_planner *planner, const struct leat_config *config,
                     const char *arg, const char *name, enum leat_dtype dtype, bool is_list,
                     uint32_t *ret_column, struct leat_field **ret_field, struct leat_error *err);
/* The same for the result of a stage with the arguments `input` and `output`: it takes the place of
 * the input if output is NULL. */
int leat_planner_add_result(struct leat_planner *planner, const struct leat_config *config,
                            const char *input, const char *output, enum leat_dtype dtype,
                            bool is_list, uint32_t *ret_column, struct leat_field **ret_field,
                            struct leat_error *err);
/* Adds a column outside the schema. name: for people, "(hash)". Only leat_planner_keep() keeps it.
 */
int leat_planner_add_hidden(struct leat_planner *planner, const struct leat_config *config,
                            const char *name, enum leat_dtype dtype, bool is_list,
                            uint32_t *ret_column, struct leat_error *err);
int leat_planner_rename(struct leat_planner *planner, const struct leat_config *config,
                        const char *arg, const char *from, const char *to, struct leat_error *err);
int leat_planner_select(struct leat_planner *planner, const struct leat_config *config,
                        const char *arg, const struct leat_texts *fields, struct leat_error *err);
/* Names in the schema at this point, in order. */
size_t leat_planner_names(const struct leat_planner *planner, const char **ret_names,
                          size_t capacity);
/* The column of the i-th of them. */
uint32_t leat_planner_column(const struct leat_planner *planner, size_t i);
/* The same as leat_planner_find() for a stage that reads no values: the column may be made with the
 * batch. */
int leat_planner_find_made(struct leat_planner *planner, const struct leat_config *config,
                           const char *arg, const char *name, uint32_t *ret_column,
                           struct leat_error *err);
/* A column of an earlier stage that the caller changes (pad). */
struct leat_field *leat_planner_edit(struct leat_planner *planner, uint32_t column);
/* If *name is NULL, sets it (malloc'ed) to the text that a stage made last, or to the only one of
 * the source. */
int leat_planner_default_text(const struct leat_planner *planner, const struct leat_config *config,
                              const char *arg, const char **name, struct leat_error *err);
/* Keeps the column: it is read on the run's thread, or when batches are made. */
int leat_planner_keep(struct leat_planner *planner, uint32_t column);
/* Records that this stage reads the column, so that it is made. leat_planner_find() does so too. */
int leat_planner_use(struct leat_planner *planner, uint32_t column);
/* The same, if only the column `result` of this stage is made of it. */
int leat_planner_use_for(struct leat_planner *planner, uint32_t column, uint32_t result);
/* The index of this stage among those of its kind, which seeds random stages. */
uint64_t leat_planner_stage_index(const struct leat_planner *planner);

/* One block going through the MAP stages. Owner: the job. */
struct leat_map {
    struct leat_block *block;
    const struct leat_cutter *cutter; /* what cut the records */
    const struct leat_config *source; /* that they are of */
    const uint32_t *wanted; /* [n_records]: their numbers in the source of the block; NULL: all */
    const struct leat_field *fields; /* [n_columns] */
    const bool *is_needed;           /* [n_columns]: a column that is not needed must not be made */
    const bool *is_kept;             /* [n_columns]: outlives the job */
    struct leat_arena *scratch;      /* for this job only */
    uint64_t seed, epoch;            /* of the stream */
    const char *file; /* that the block is of, as the entry of `paths` would name it */
    uint64_t max_fields, max_tokens; /* a record; 0: any number */
    uint32_t n_at_once;              /* concurrent jobs of the run, at most */
    void *workspace;                 /* what the stage keeps from job to job, see workspace_new */
    uint64_t n_bytes_out;            /* counted by the stage: text or token bytes it made */

    /* the runner's own */
    const char *stage; /* name of the stage that runs; NULL: the source */
    bool *is_dropped;  /* [n_rows]: set by reject and drop, compacted after each stage */
    uint32_t n_dropped;
    bool *marks; /* a filter behind an ORDER stage: drop() clears marks[row] and drops nothing */
    uint32_t n_marks;         /* the last columns are marks of such filters, once they have run */
    bool keeps_bad_bytes;     /* bad records keep their raw bytes (quarantine) */
    bool is_out_of_memory;    /* set where no error can be returned */
    const uint8_t *records;   /* leat_map_records() */
    struct leat_notes *notes; /* may be NULL */
    uint32_t bad_capacity;
    uint32_t line_record; /* up to where lines are counted */
    uint64_t line;
};

static inline struct leat_column *leat_map_column(const struct leat_map *map, uint32_t column) {
    return &map->block->columns[column];
}

/* Elements of all rows of a column with lists or texts. */
static inline size_t leat_map_n_items(const struct leat_map *map, uint32_t column) {
    const uint32_t *lengths = leat_map_column(map, column)->lengths;
    size_t n = 0;

    for (uint32_t row = 0; row < map->block->n_rows; row++)
        n += lengths[row];
    return n;
}

/* Memory for a column's values, from `kept` or `scratch` as the plan says. NULL: memory ran out. */
void *leat_map_alloc(struct leat_map *map, uint32_t column, size_t n_bytes);
struct leat_arena *leat_map_arena(struct leat_map *map, uint32_t column);

/* Allocates values (n_elements of the dtype size) and, for lists, starts and lengths of n_rows. 0
 * or -ENOMEM. */
int leat_map_make_scalar(struct leat_map *map, uint32_t column, size_t element_bytes);
int leat_map_make_views(struct leat_map *map, uint32_t column);

/* The bytes of the records, which record_starts and record_ends are about. NULL: memory ran out. */
const uint8_t *leat_map_records(struct leat_map *map);

/* Marks a row as bad or as dropped. The views and values of a bad row must stay valid (length 0),
 * since the row stays if a filter behind an ORDER stage is to drop it. */
#define leat_map_reject(map, row, field, ...)                                                      \
    leat_map_reject_place((map), (row), (field), 0, 0, __VA_ARGS__)
/* The same, for a value of a field within the record's first line, at that byte from 1. */
#define leat_map_reject_value(map, row, field, column, ...)                                        \
    leat_map_reject_place((map), (row), (field), 0, (column), __VA_ARGS__)
/* The same, for what is wrong at a place in the record: line from 0 within it, byte from 1 (0:
 * unknown). */
#define leat_map_reject_at(map, row, line, column, ...)                                            \
    leat_map_reject_place((map), (row), NULL, (line), (column), __VA_ARGS__)
__attribute__((format(printf, 6, 7))) void leat_map_reject_place(struct leat_map *map, uint32_t row,
                                                                 const char *field, uint32_t line,
                                                                 uint32_t column,
                                                                 const char *format, ...);
void leat_map_drop(struct leat_map *map, uint32_t row);

/* Messages for the operator, such as what a program printed. A job keeps the first LEAT_NOTES_MAX.
 */
#define LEAT_NOTES_MAX 8
struct leat_notes {
    const char *texts[LEAT_NOTES_MAX]; /* in the job's scratch memory */
    uint32_t n_texts, n_dropped;
};
__attribute__((format(printf, 2, 3))) void leat_map_note(struct leat_map *map, const char *format,
                                                         ...);

/* The seed of random choices about the row: made of file and byte offset of its record, so that
 * neither block size nor order of work matters. */
uint64_t leat_map_row_key(const struct leat_map *map, uint32_t row, uint64_t stage_seed,
                          enum leat_rng_purpose purpose);
/* The same for another seed of the stream, or another epoch. */
uint64_t leat_map_place_key(const struct leat_map *map, uint32_t row, uint64_t stream_seed,
                            uint64_t stage_seed, uint64_t epoch, enum leat_rng_purpose purpose);

#define LEAT_ORDER_DONE     1 /* from push: the epoch needs no more rows */
#define LEAT_ORDER_LEFT_OUT 3 /* from push of a stage: the row was dropped */

struct leat_order_sink {
    int (*push)(struct leat_order_sink *sink, struct leat_ref ref,
                struct leat_error *err); /* takes the reference; 0, DONE, -errno */
    /* Pushes *n rows of the block that follow each other, and counts their references. *n: those
     * that were pushed, all but after DONE and -errno. NULL: they are pushed one by one. */
    int (*push_rows)(struct leat_order_sink *sink, struct leat_block *block, uint32_t row,
                     uint32_t *n, struct leat_error *err);
    /* Takes n references, also after -errno. NULL: they are pushed one by one. */
    int (*push_refs)(struct leat_order_sink *sink, const struct leat_ref *refs, uint32_t n,
                     struct leat_error *err);
};
static inline int leat_order_push(struct leat_order_sink *sink, struct leat_ref ref,
                                  struct leat_error *err) {
    return sink->push(sink, ref, err);
}
struct leat_order_key {
    uint64_t seed; /* of the stream */
    uint64_t epoch;
    uint64_t pass;  /* of `repeat` within the epoch */
    uint64_t index; /* of the stage among its kind, plus lane * 2^16 */
    bool may_evict; /* the run evicts and reloads waiting blocks: the stage need not bound memory */
};

/* The order in which the source is read if not from front to back: blocks of records in random
 * order. */
#define LEAT_BLOCK_SIZE_MAX  (1 << 24)
#define LEAT_ORDER_LANES_MAX 4096
#define LEAT_RNG_LANE_SHIFT  16 /* lane * 2^16 is added to the index of random choices in a lane */
struct leat_block_order {
    uint64_t block_size; /* 0: from front to back */
    uint64_t seed;       /* of the stage */
    uint64_t index;      /* of the stage among its kind */
    bool reshuffles;     /* each epoch and pass */
    size_t n_lanes;      /* that the blocks are dealt to; 0: all records are in one order */
};

/* The endings of a source's files, and an argument that follows from such an ending. */
struct leat_source_suffix {
    const char *text; /* ".tsv"; NULL: no more */
    const char *arg, *value;
};

struct leat_stage_ops {
    const char *name;
    const char *summary; /* one sentence */
    const char *example; /* YAML flow form of the arguments: "{ input: text, output: input_ids,
                            vocab: vocab.txt }" */
    enum leat_stage_kind kind;
    const struct leat_arg *args;
    size_t config_size;

    int (*check)(struct leat_config *config,
                 struct leat_error *err); /* across arguments; may be NULL */
    int (*load)(struct leat_config *config, const struct leat_opener *opener,
                struct leat_error *err);
    void (*unload)(struct leat_config *config);
    /* Adds the contents of the files that load has read, other than data, to the digest of the
     * spec: with another vocabulary it is another stream. May be NULL. */
    void (*digest)(const struct leat_config *config, struct leat_blake2b *state);
    /* Greater than 0 if the stage makes other batches of these arguments than an earlier version of
     * leat. It is part of the spec's digest, which tells positions of both apart. Called after
     * plan. NULL: always 0. */
    unsigned (*revision)(const struct leat_config *config);
    /* The digest of each such file, to say which of them changed. May be NULL. */
    const struct leat_contents *(*contents)(const struct leat_config *config);
    int (*plan)(struct leat_config *config, struct leat_planner *planner, struct leat_error *err);

    /* MAP: works over all rows of map->block. Errors are of the environment (-ENOMEM); bad records
     * are rejected. ORDER and COLLATE: their half in the pass, which runs if the stage has a hidden
     * column or reads one that is needed. */
    int (*map)(const struct leat_config *config, struct leat_map *map, struct leat_error *err);
    /* Where several stages share a `map` that calls it: makes element `to` of the result from
     * element `from` of the input. */
    void (*put)(const struct leat_config *config, struct leat_map *map, uint32_t row, size_t from,
                size_t to);
    /* The memory of a MAP stage from job to job: caches, buffers. Results must not depend on it.
     * `map` has map->workspace for itself: a run has one for each concurrent job, and frees it at
     * the end. new() may block. Both may be NULL. */
    int (*workspace_new)(const struct leat_config *config, void **ret_workspace,
                         struct leat_error *err);
    void (*workspace_free)(void *workspace);
    /* Frees what is costly to hold while idle, such as processes; is_final: for good. A job of its
     * own calls it about once a second, so it may block for a moment. May be NULL. */
    void (*workspace_idle)(void *workspace, bool is_final);
    /* The number of concurrent MAP jobs of a run at most, since each holds resources. NULL: any. */
    uint32_t (*max_jobs)(const struct leat_config *config);
    /* Bytes that load() took, and that a workspace takes at most, for `leatctl explain`. May be
     * NULL. */
    void (*memory)(const struct leat_config *config, size_t *ret_loaded, size_t *ret_workspace);

    /* MAP: true if a record may give other values in another epoch or with another seed: such a
     * stream cannot be cached. NULL: never. */
    bool (*varies)(const struct leat_config *config);

    /* MAP that drops rows: it takes effect at its place, even behind ORDER stages. filters(): true
     * if it does so with these arguments; NULL: as is_filter says. */
    bool is_filter;
    bool (*filters)(const struct leat_config *config);

    /* ORDER */
    bool is_blind; /* it reads no column: rows without values may pass it */
    /* is_blind: the number of rows that leave it if n_rows come; UINT64_MAX: endless. NULL: n_rows.
     */
    uint64_t (*rows_behind)(const struct leat_config *config, uint64_t n_rows);
    bool picks_by_order; /* which rows leave it depends on the order in which they come */
    /* True if the number of rows that leave it depends on their order. NULL: false. */
    bool (*counts_by_order)(const struct leat_config *config);
    /* True if rows leave it in another order in each epoch. NULL: false. */
    bool (*reorders)(const struct leat_config *config);
    bool expands;      /* a row becomes several, or none */
    bool passes_one;   /* a row that comes lets one row leave at most */
    bool is_last;      /* no ORDER stage may follow: it decides which rows share a batch */
    size_t state_size; /* zeroed before start */
    /* Rows that wait in the stage at most, which keep their blocks in memory, and bytes of its
     * state. NULL: none. */
    void (*holding)(const struct leat_config *config, uint64_t *ret_rows, uint64_t *ret_bytes);
    /* The order in which the source is read. No stage before it may depend on the order of the
     * data. NULL: from front to back. */
    void (*reads)(const struct leat_config *config, struct leat_block_order *ret_order);
    /* Bytes of waiting blocks above which they may be evicted, if there is a cache. NULL or 0:
     * never. */
    uint64_t (*evicts_above)(const struct leat_config *config);
    /* Bytes that the state has allocated so far. NULL: none. */
    uint64_t (*state_bytes)(const void *state);
    int (*start)(const struct leat_config *config, void *state, const struct leat_order_key *key,
                 struct leat_error *err);
    int (*push)(const struct leat_config *config, void *state, struct leat_ref ref,
                struct leat_order_sink *down, struct leat_error *err);
    /* The same for rows of a block, as in struct leat_order_sink. NULL: they come one by one. */
    int (*push_rows)(const struct leat_config *config, void *state, struct leat_block *block,
                     uint32_t row, uint32_t *n, struct leat_order_sink *down,
                     struct leat_error *err);
    int (*finish)(const struct leat_config *config, void *state, struct leat_order_sink *down,
                  struct leat_error *err);
    void (*stop)(const struct leat_config *config,
                 void *state); /* frees; drops what it holds. After start, always */

    /* SOURCE: config begins with struct leat_source_config. */
    const struct leat_source_suffix *suffixes; /* of its files' names; the last is empty */
    bool is_composite; /* config is a leat_composite; what follows is NULL */
    /* Declares the fields from the first bytes of the first file (all of it if is_whole): in plan's
     * place. */
    int (*probe)(struct leat_config *config, const uint8_t *head, size_t n_bytes, bool is_whole,
                 const char *file, struct leat_planner *planner, struct leat_error *err);
    /* Leaves only those bytes of a head in which probe() would find the same, if they were all of
     * the file. `head` is what probe() succeeded with. */
    int (*shorten_head)(const struct leat_config *config, uint8_t *head, size_t *n_bytes,
                        bool is_whole, struct leat_error *err);
    void (*cutter)(const struct leat_config *config, struct leat_cutter *ret_cutter);
    /* At the start of each file: bytes to skip (BOM, header row), 0..n_bytes; checks the header.
     * -EAGAIN: needs more bytes (never if is_whole). *ret_lines: line ends skipped. */
    int (*begin_file)(const struct leat_config *config, const uint8_t *head, size_t n_bytes,
                      bool is_whole, const char *file, size_t *ret_skip, uint64_t *ret_lines,
                      struct leat_error *err);
    /* For files that do not hold records as bytes: opens a record reader of the file (io/input.h),
     * which it takes, also when it fails. NULL: records are bytes of the file. */
    int (*open_records)(const struct leat_config *config, const struct leat_input_limits *limits,
                        struct leat_input *take_file, struct leat_input **ret_input,
                        struct leat_error *err);
    /* Writes a record as JSON for people. NULL: its bytes are readable. */
    void (*show)(const struct leat_config *config, const uint8_t *record, size_t n_bytes,
                 struct leat_text *text);
    /* Writes the bytes of all records, where record_starts and record_ends say, if the source has
     * them in another order. NULL: it has them there. */
    void (*records)(const struct leat_config *config, const struct leat_block *block, uint8_t *out);
    /* Fills the needed columns from map->block->source and its record_starts/ends. */
    int (*parse)(const struct leat_config *config, struct leat_map *map, struct leat_error *err);
};

/* The beginning of every table of a stage; its arguments are called `args`. */
#define LEAT_STAGE_BASE(text, config, stage_kind)                                                  \
    .name = text, .kind = LEAT_STAGE_##stage_kind, .args = args,                                   \
    .config_size = sizeof(struct config)

/* True if the stage drops rows. */
static inline bool leat_stage_filters(const struct leat_config *config) {
    return config->ops->is_filter || (config->ops->filters && config->ops->filters(config));
}

/* The common beginning of every source's config. */
struct leat_source_config {
    struct leat_config base;
    struct leat_texts paths, suffixes;
    struct leat_files files; /* filled by load */
    int invalid_utf8;        /* enum leat_invalid_utf8 */
};

enum leat_invalid_utf8 { LEAT_INVALID_UTF8_REPLACE, LEAT_INVALID_UTF8_FAIL };

extern const char *const leat_invalid_utf8_choices[];

/* The arguments that every source has. A source that cannot read pipes and compressed files uses
 * LEAT_SOURCE_ARGS_OF_FILES. */
#define LEAT_SOURCE_ARGS(invalid_utf8_fallback)                                                    \
    LEAT_SOURCE_ARGS_OF("a range such as `part-{000..127}.txt`, or \"-\" for standard input",      \
                        "; leat also reads compressed files (.gz, .zst, .lz4, .bz2 and "           \
                        ".xz), and recognizes them by their content",                              \
                        invalid_utf8_fallback)
#define LEAT_SOURCE_ARGS_OF_FILES(invalid_utf8_fallback)                                           \
    LEAT_SOURCE_ARGS_OF("or a range such as `part-{000..127}.txt`", "", invalid_utf8_fallback)
#define LEAT_SOURCE_ARGS_OF(last_items, compressed, invalid_utf8_fallback)                         \
    LEAT_ARG(                                                                                      \
        leat_source_config, paths, PATHS,                                                          \
        "the files to read; leat reads them in the order of this list; an item is a "              \
        "file, a pattern such as `part-*.txt`, a directory with everything below it, " last_items  \
        "; a relative path starts at the folder of the file that has this "                        \
        "list" compressed,                                                                         \
        .is_required = true, .is_positional = true, .min = 1, .max = 65536),                       \
        LEAT_ARG_NAMED("suffix", leat_source_config, suffixes, TEXTS,                              \
                       "the suffixes of the files that leat reads in directories; .jsonl also "    \
                       "stands for .jsonl.gz and the like; default: all files",                    \
                       .min = 1, .max = 64),                                                       \
        LEAT_ARG(leat_source_config, invalid_utf8, CHOICE,                                         \
                 "what happens to bytes that are not UTF-8; `replace`: leat puts U+FFFD in "       \
                 "their place; `fail`: the record is bad",                                         \
                 .fallback = invalid_utf8_fallback, .choices = leat_invalid_utf8_choices)

/* The bytes of a record, and how many may be read from its start. */
struct leat_source_record {
    const uint8_t *bytes;
    size_t n_bytes, n_readable;
};

static inline struct leat_source_record leat_source_record(const struct leat_map *map,
                                                           uint32_t row) {
    const struct leat_block *block = map->block;
    uint32_t start = block->record_starts[row];

    return (struct leat_source_record){block->source + start, block->record_ends[row] - start,
                                       block->n_source_bytes - start};
}

/* Rejects a record that the cutter finds malformed. True: it was rejected. */
bool leat_source_reject_malformed(struct leat_map *map, uint32_t row,
                                  const struct leat_source_record *record);

/* True if all records of the block are UTF-8; if not, each must be mended. */
bool leat_source_is_utf8(const struct leat_map *map);
/* Replaces what is not UTF-8, in scratch memory of up to LEAT_SOURCE_MENDED_MAX times the size.
 * -EILSEQ: the record was rejected. -ENOMEM. */
#define LEAT_SOURCE_SLACK      64
#define LEAT_SOURCE_MENDED_MAX 3
int leat_source_mend(const struct leat_source_config *source, struct leat_map *map, uint32_t row,
                     struct leat_source_record *record);

/* Bytes of the byte order mark at the start of a file, and a begin_file that knows of nothing else.
 */
#define LEAT_SOURCE_BOM_BYTES 3
size_t leat_source_bom(const uint8_t *head, size_t n_bytes);
int leat_source_begin_file(const struct leat_config *config, const uint8_t *head, size_t n_bytes,
                           bool is_whole, const char *file, size_t *ret_skip, uint64_t *ret_lines,
                           struct leat_error *err);

/* ---- sources of sources ---- */

#define LEAT_SOURCES_MAX 256
#define LEAT_LANES_MAX   64 /* sources that are mixed */

enum leat_exhausted { LEAT_EXHAUSTED_STOP, LEAT_EXHAUSTED_REPEAT, LEAT_EXHAUSTED_DROP };

/* The way in which `mix` mixes the records of several sources (order/mixer.h). */
struct leat_mixing {
    bool is_random; /* by weights; else in turn */
    enum leat_exhausted exhausted;
    uint64_t seed;
    size_t n_lanes;
    double shares[LEAT_LANES_MAX]; /* sum: 1 */
};

struct leat_composite {
    struct leat_source_config source; /* its files: those of all its sources */
    const struct leat_value *sources; /* a list, as written */
    bool is_mix;
    struct leat_mixing mixing;
};
/* The load and unload of every source. load() expands `paths` relative to the file that names them.
 */
void leat_source_unload(struct leat_config *config);
int leat_source_load(struct leat_config *config, const struct leat_opener *opener,
                     struct leat_error *err);

/* Looks a stage or source up by name: NULL if there is none. */
const struct leat_stage_ops *leat_stage_find(const char *name);
const struct leat_stage_ops *leat_source_find(const char *name);
/* The source that reads a file of that name, compressed or not. */
const struct leat_stage_ops *leat_source_of_file(const char *file,
                                                 const struct leat_source_suffix **ret_suffix);
/* All of them, NULL-terminated, in the order of the .def file. */
extern const struct leat_stage_ops *const leat_stages[];
extern const struct leat_stage_ops *const leat_sources[];
