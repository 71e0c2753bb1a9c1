/* measure.c: see measure.h. Mixed sources are tried one after the other, each for its part of the
 * time. Times of stages come from later blocks, as caches warm up in the first ones. One thread. */
#include "pipeline/inspect/measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/block/fit.h"
#include "pipeline/order/order.h"
#include "pipeline/work/collate.h"
#include "pipeline/work/map.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define RECORD_BYTES (4U << 20)  /* A larger record ends the trial. */
#define BLOCK_BYTES  (128 << 10) /* small, so that a trial has several blocks */
#define FILES_SHARE  8           /* Looking up sizes takes at most an eighth of the time. */
#define CACHED_MAX   4           /* blocks that are tried with a cache */
#define LOADS        3           /* of each of them */
#define SWEEP_BYTES  (4U << 20)  /* more than a core's own caches */
#define BATCHES_MAX  4096
#define MAP_SHARE    0.6 /* part of the time for reading and mapping */

struct trial {
    struct leat_plan plan; /* of the caller, with another block size */
    const struct leat_opener *opener;
    const struct leat_measure_options *options;
    struct leat_measurement *result;
    struct leat_scan scan;
    struct leat_buffer buffer;
    struct leat_block_pool pool;
    struct leat_arena scratch;
    struct leat_workspace *workspace;
    struct leat_order order;
    struct leat_cache_item item;
    int cache_fd; /* -1: not made yet */
    struct leat_cache_frame frames[CACHED_MAX];
    size_t n_frames;
    struct leat_arena made; /* into which blocks are loaded */
    uint64_t (*busy_ns)(void);
    uint64_t start_ns, start_busy_ns;
    uint64_t n_blocks;
    bool is_done; /* The order wants no more rows. */
};

static uint64_t now(const struct trial *trial) {
    return trial->options->now_ns();
}

static uint64_t busy(const struct trial *trial) {
    return trial->busy_ns();
}

static bool starts_programs(const struct leat_plan *plan) {
    for (size_t i = 0; i < plan->n_map; i++)
        if (plan->map[i]->ops->workspace_idle)
            return true;
    return false;
}

const char *leat_measure_refusal(const struct leat_plan *plan,
                                 const struct leat_measure_options *options) {
    if (plan->is_one_pass)
        return "the source is a FIFO, which can be read only once";
    if (!options->may_start_programs && starts_programs(plan))
        return "the measurement would start the programs of `exec`: allow this with --measure";
    return NULL;
}

/* ---- one block ---- */

/* Empties the core's own caches, as they are when a run loads a block. */
static void sweep(uint8_t *bytes) {
    for (size_t i = 0; i < SWEEP_BYTES; i += LEAT_ARENA_ALIGN)
        bytes[i]++;
}

/* Loads a block as a run does: into memory that stays warm, then into an arena that fits. */
static int load(struct trial *trial, const struct leat_cache_frame *frame, struct leat_error *err) {
    struct leat_map_job job = {
        .plan = &trial->plan,
        .load = {.fd = trial->cache_fd, .frame = *frame},
        .block = leat_block_pool_take(&trial->pool),
        .scratch = &trial->scratch,
    };
    struct leat_arena fit;
    int r;

    if (!job.block)
        return leat_error_oom(err);
    fit = job.block->kept;
    job.block->kept = trial->made;
    r = leat_load_execute(&job, err);
    if (r == 0)
        leat_block_fit(job.block, trial->plan.fields, trial->plan.is_kept, &trial->scratch, &fit);
    trial->made = fit;
    leat_arena_reset(&trial->made);
    leat_arena_reset(&trial->scratch);
    leat_block_unref(job.block, 1);
    return r;
}

/* The file is not executable, which a machine may require to be said (Linux 6.3). */
static int make_file(void) {
    int fd = memfd_create("leat-trial", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

    return fd < 0 && errno == EINVAL ? memfd_create("leat-trial", MFD_CLOEXEC) : fd;
}

/* Encodes the block as for a cache, and keeps its frame for try_loads(). */
static int store(struct trial *trial, struct leat_map_job *job, struct leat_error *err) {
    const struct leat_cache_frame *last =
        trial->n_frames > 0 ? &trial->frames[trial->n_frames - 1] : NULL;
    uint64_t start_ns = busy(trial);
    int r;

    job->item = &trial->item;
    r = leat_load_make(job, err);
    trial->result->encode_ns += busy(trial) - start_ns;
    if (trial->cache_fd < 0)
        trial->cache_fd = make_file();
    if (r == 0 && trial->cache_fd < 0)
        r = leat_error_set(err, -errno, "cannot get memory for a cache: %s", strerror(errno));
    if (r < 0)
        return r;
    trial->item.frame.position = last ? last->position + leat_cache_frame_size(last) : 0;
    trial->frames[trial->n_frames++] = trial->item.frame;
    trial->result->n_cached_rows += job->piece.span.n_records;
    return leat_cache_file_write(trial->cache_fd, 0, &trial->item.frame, trial->item.bytes, err);
}

/* Times loading from a cache. The last load of a block counts, as it finds memory to use again like
 * those of a run. */
static int try_loads(struct trial *trial, struct leat_error *err) {
    uint8_t *swept = trial->n_frames > 0 ? calloc(1, SWEEP_BYTES) : NULL;
    int r = trial->n_frames > 0 && !swept ? leat_error_oom(err) : 0;

    for (size_t i = 0; r == 0 && i < LOADS * trial->n_frames; i++) {
        uint64_t start_ns;

        sweep(swept);
        start_ns = busy(trial);
        r = load(trial, &trial->frames[i / LOADS], err);
        if (i % LOADS == LOADS - 1)
            trial->result->load_ns += busy(trial) - start_ns;
    }
    free(swept);
    return r;
}

static int feed(struct trial *trial, struct leat_block *block, struct leat_error *err) {
    const struct leat_block_order *blocks = &trial->plan.blocks;
    uint64_t start_ns = busy(trial);
    int r = 0;

    for (uint32_t row = 0, n; r == 0 && row < block->n_rows; row += n) {
        size_t n_before = trial->result->n_rows + row;
        size_t lane = blocks->n_lanes > 0 ? n_before / blocks->block_size % blocks->n_lanes : 0;

        n = blocks->n_lanes > 0 ? 1 : block->n_rows - row;
        r = leat_order_feed(&trial->order, lane, block, row, &n, err);
    }
    trial->is_done |= r > 0;
    trial->result->n_rows += block->n_rows;
    trial->result->order_ns += busy(trial) - start_ns;
    return r < 0 ? r : 0;
}

/* Forgets earlier times each time that the number of blocks has doubled. */
static void take_steps(struct trial *trial, const struct leat_map_job *job) {
    struct leat_measurement *result = trial->result;

    if (trial->n_blocks > 0 && (trial->n_blocks & (trial->n_blocks - 1)) == 0) {
        memset(result->step_ns, 0, (trial->plan.n_map + 1) * sizeof(*result->step_ns));
        result->n_step_rows = 0;
    }
    for (size_t i = 0; i <= trial->plan.n_map; i++)
        result->step_ns[i] += job->counts[LEAT_COUNT_SOURCE + i].busy_ns;
    result->n_step_rows += job->piece.span.n_records;
    if (trial->n_blocks++ == 0)
        result->first_ns = busy(trial) - trial->start_busy_ns;
}

/* Takes times of the last block, which is mapped again. */
static void take_warm(struct trial *trial, const struct leat_map_job *job) {
    for (size_t i = 0; i <= trial->plan.n_map; i++)
        trial->result->warm_ns[i] += job->counts[LEAT_COUNT_SOURCE + i].busy_ns;
    trial->result->n_warm_rows += job->piece.span.n_records;
}

static int try_piece(struct trial *trial, const struct leat_piece *piece, bool is_again,
                     struct leat_error *err) {
    struct leat_map_job job = {
        .plan = &trial->plan,
        .opener = trial->opener,
        .piece = *piece,
        .load = {.fd = -1},
        .block = leat_block_pool_take(&trial->pool),
        .scratch = &trial->scratch,
        .workspace = trial->workspace,
        .seed = (uint64_t)trial->plan.options.seed,
        .stop_after = (int)trial->plan.n_map,
        .now_ns = trial->busy_ns,
        .n_at_once = 1,
        .counts = calloc(LEAT_COUNT_STAGES + trial->plan.n_map, sizeof(struct leat_stage_count)),
    };
    int r = job.block && job.counts ? leat_map_execute(&job, err) : leat_error_oom(err);

    if (r == 0 && is_again)
        take_warm(trial, &job);
    else if (r == 0)
        take_steps(trial, &job);
    if (r == 0 && !is_again && (trial->plan.cache_path || trial->options->tries_cache) &&
        trial->n_frames < CACHED_MAX)
        r = store(trial, &job, err);
    if (r == 0 && !is_again)
        r = feed(trial, job.block, err);
    free(job.counts);
    if (job.block)
        leat_block_unref(job.block, 1);
    leat_arena_reset(&trial->scratch);
    return r;
}

/* ---- sources ---- */

/* Reads a lane for its part of the time. */
static int read_lane(struct trial *trial, uint64_t max_bytes, uint64_t end_ns,
                     uint64_t *ret_n_bytes, uint64_t *ret_n_records, bool *ret_has_ended,
                     struct leat_error *err) {
    struct leat_piece last = {.buffer = NULL};
    int r = 0;

    while (r == 0 && !trial->is_done && !*ret_has_ended && *ret_n_bytes < max_bytes &&
           now(trial) < end_ns) {
        struct leat_scan_job job = {.scan = &trial->scan,
                                    .max_bytes = RECORD_BYTES,
                                    .n_pieces = 1,
                                    .buffers = {&trial->buffer}};
        uint64_t n_read = 0, start_ns = busy(trial);

        r = leat_scan_execute(&job, &n_read, err);
        trial->result->scan_ns += busy(trial) - start_ns;
        *ret_has_ended = job.has_ended;
        if (job.wants_bytes > 0)
            break;
        if (r < 0 || !job.pieces[0].buffer)
            continue;
        *ret_n_bytes += job.pieces[0].span.n_bytes;
        *ret_n_records += job.pieces[0].span.n_records;
        last = job.pieces[0];
        r = try_piece(trial, &last, false, err);
    }
    if (r >= 0 && last.buffer && !*ret_has_ended)
        r = try_piece(trial, &last, true, err);
    return r < 0 ? r : 0;
}

static uint64_t file_bytes(const struct leat_opener *opener, const char *path) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct stat status = {.st_size = 0};
    int fd = opener->open_file(opener, path, &err);

    if (fd < 0)
        return 0;
    if (fstat(fd, &status) < 0)
        status.st_size = 0;
    (void)close(fd);
    return (uint64_t)status.st_size;
}

/* Bytes of the files first..end-1, extrapolated if there are too many for the time. */
static double total_bytes(const struct trial *trial, size_t first, size_t end) {
    uint64_t end_ns = now(trial) + trial->options->max_ns / FILES_SHARE, n_bytes = 0;
    char *const *paths = trial->plan.source->files.paths;
    size_t i = first;

    for (; i < end && (i == first || now(trial) < end_ns); i++)
        n_bytes += file_bytes(trial->opener, paths[i]);
    return i > first ? (double)n_bytes / (double)(i - first) * (double)(end - first) : 0;
}

/* Bytes of text per byte of the files. */
static double expansion(const struct trial *trial, size_t first, uint64_t n_bytes) {
    const struct leat_scan *scan = &trial->scan;
    uint64_t consumed = scan->input ? leat_input_offset(scan->input) : 0;

    if (!trial->plan.is_compressed)
        return 1;
    for (size_t i = first; i < scan->file; i++)
        consumed += file_bytes(trial->opener, trial->plan.source->files.paths[i]);
    n_bytes += scan->n_carry;
    return consumed > 0 ? (double)n_bytes / (double)consumed : 1;
}

/* Tries a source, and estimates its number of records. */
static int try_lane(struct trial *trial, uint32_t lane, uint32_t n_lanes, double *ret_n_records,
                    struct leat_error *err) {
    uint64_t n_bytes = 0, n_records = 0;
    uint64_t budget_ns = (uint64_t)(MAP_SHARE * (double)trial->options->max_ns) / n_lanes;
    size_t first = 0, end = trial->plan.source->files.n_paths;
    bool has_ended = false;
    int r;

    leat_scan_start(&trial->scan, &trial->plan, trial->opener, false);
    if (n_lanes > 1) {
        leat_plan_lane_files(&trial->plan, lane, &first, &end);
        trial->scan.file = first;
        trial->scan.end_file = end;
    }
    r = read_lane(trial, trial->options->max_bytes / n_lanes, now(trial) + budget_ns, &n_bytes,
                  &n_records, &has_ended, err);
    *ret_n_records = (double)n_records;
    if (r == 0 && !has_ended && n_bytes > 0)
        *ret_n_records = total_bytes(trial, first, end) * expansion(trial, first, n_bytes) *
                         (double)n_records / (double)n_bytes;
    leat_scan_stop(&trial->scan);
    trial->result->n_bytes += n_bytes;
    trial->result->n_records += n_records;
    trial->result->is_all &= has_ended;
    return r;
}

/* Number of records of an epoch, from those of each source. */
static double mix(const struct leat_mixing *mixing, const double *n_records) {
    double least = 0, most = 0, sum = 0;

    for (size_t i = 0; i < mixing->n_lanes; i++) {
        double n = mixing->shares[i] > 0 ? n_records[i] / mixing->shares[i] : 0;

        least = i == 0 || n < least ? n : least;
        most = n > most ? n : most;
        sum += n_records[i];
    }
    return mixing->exhausted == LEAT_EXHAUSTED_STOP     ? least
           : mixing->exhausted == LEAT_EXHAUSTED_REPEAT ? most
                                                        : sum;
}

static int try_sources(struct trial *trial, struct leat_error *err) {
    const struct leat_mixing *mixing = trial->plan.mixing;
    uint32_t n_lanes = mixing ? (uint32_t)mixing->n_lanes : 1;
    double n_records[LEAT_LANES_MAX] = {0};
    int r = 0;

    trial->result->is_all = true;
    for (uint32_t i = 0; r == 0 && i < n_lanes; i++)
        r = try_lane(trial, i, n_lanes, &n_records[i], err);
    trial->result->n_epoch_records = mixing ? mix(mixing, n_records) : n_records[0];
    if (trial->is_done) /* by `take` */
        trial->result->n_epoch_records = (double)trial->result->n_records;
    trial->result->is_all |= trial->is_done;
    if (!trial->is_done && trial->plan.has_repeat) /* 0: without end */
        trial->result->n_epoch_records *= (double)trial->plan.repeat_count;
    return r;
}

/* ---- batches ---- */

static int try_batch(struct trial *trial, struct leat_batch_refs *batch) {
    struct leat_measurement *result = trial->result;
    size_t size = (size_t)leat_collate_need(&trial->plan, batch);
    void *memory = aligned_alloc(LEAT_SLOT_ALIGN, leat_slot_align(size));
    struct leat_collate_job *job = calloc(1, sizeof(*job));
    uint64_t start_ns;

    if (memory && job) {
        memset(memory, 0, size); /* maps the pages, as those of a ring are */
        job->plan = &trial->plan;
        job->n_items = 1;
        job->items[0] = (struct leat_collate_item){.batch = batch,
                                                   .slot = {.memory = memory, .size_bytes = size}};
        start_ns = busy(trial);
        leat_collate_execute(job);
        result->collate_ns += busy(trial) - start_ns;
        result->n_collated_rows += batch->n_refs;
    }
    free(job);
    free(memory);
    return memory && job ? 0 : -ENOMEM;
}

/* Counts all batches, and collates as many as there is time for. */
static int try_batches(struct trial *trial, uint64_t end_ns, struct leat_error *err) {
    struct leat_measurement *result = trial->result;
    uint64_t start_ns = busy(trial);
    bool with_next = false;
    int r;

    result->n_early_batches = trial->order.batcher.queue.n_batches;
    r = leat_order_end_pass(&trial->order, 0, 0, &with_next, err);

    result->order_ns += busy(trial) - start_ns;
    while (r == 0 && trial->order.batcher.queue.first) {
        struct leat_batch_refs *batch = leat_batcher_pop(&trial->order.batcher);

        result->n_batches++;
        result->n_batch_rows += batch->n_refs;
        if ((result->n_collated_rows == 0 || now(trial) < end_ns) &&
            result->n_batches <= BATCHES_MAX && try_batch(trial, batch) < 0)
            r = leat_error_oom(err);
        leat_batch_refs_free(batch);
    }
    return r;
}

/* ---- */

static int begin(struct trial *trial, struct leat_error *err) {
    struct leat_sequence whole = {.seed = (uint64_t)trial->plan.options.seed, .world_size = 1};
    int r;

    leat_arena_init(&trial->scratch);
    trial->plan.options.block_bytes = trial->plan.options.block_bytes < BLOCK_BYTES
                                          ? trial->plan.options.block_bytes
                                          : BLOCK_BYTES;
    trial->workspace = leat_workspace_new(&trial->plan);
    trial->result->step_ns = calloc(trial->plan.n_map + 1, sizeof(*trial->result->step_ns));
    trial->result->warm_ns = calloc(trial->plan.n_map + 1, sizeof(*trial->result->warm_ns));
    if (!trial->workspace || !trial->result->step_ns || !trial->result->warm_ns)
        return leat_error_oom(err);
    r = leat_order_init(&trial->order, &trial->plan, &whole, err);
    return r < 0 ? r : leat_order_start_epoch(&trial->order, 0, err);
}

static void end(struct trial *trial) {
    leat_order_deinit(&trial->order);
    if (trial->workspace)
        leat_workspace_idle(trial->workspace, &trial->plan, true);
    leat_workspace_free(trial->workspace, &trial->plan);
    leat_block_pool_deinit(&trial->pool);
    leat_arena_deinit(&trial->scratch);
    if (trial->cache_fd >= 0)
        (void)close(trial->cache_fd);
    leat_arena_deinit(&trial->made);
    leat_cache_bytes_deinit(&trial->item.block);
    leat_cache_bytes_deinit(&trial->item.stored);
    free(trial->buffer.data);
}

int leat_measure(const struct leat_plan *plan, const struct leat_opener *opener,
                 const struct leat_measure_options *options,
                 struct leat_measurement *ret_measurement, struct leat_error *err) {
    struct trial trial = {.plan = *plan,
                          .opener = opener,
                          .options = options,
                          .result = ret_measurement,
                          .cache_fd = -1};
    int r;

    *ret_measurement = (struct leat_measurement){.n_bytes = 0};
    trial.busy_ns = starts_programs(plan) ? options->now_ns : options->busy_ns;
    trial.start_ns = now(&trial);
    trial.start_busy_ns = busy(&trial);
    r = begin(&trial, err);
    if (r == 0)
        r = try_sources(&trial, err);
    if (r == 0)
        r = try_loads(&trial, err);
    if (r == 0)
        r = try_batches(&trial, trial.start_ns + options->max_ns, err);
    end(&trial);
    ret_measurement->elapsed_ns = now(&trial) - trial.start_ns;
    return r < 0 ? r : 0;
}
