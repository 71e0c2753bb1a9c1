#include "pipeline/spec/stream_options.h"

static const char *const on_error_choices[] = {"fail", "skip", "quarantine", NULL};
static const char *const verify_choices[] = {"sample", "full", NULL};
static const char *const uneven_choices[] = {"drop", "pad", "error", NULL};
static const char *const on_reload_choices[] = {"finish_epoch", "tell", NULL};
static const char *const on_change_choices[] = {"auto", "fail", "warn", "follow", NULL};
static const char *const tuner_choices[] = {"as_set", "off", "on", NULL};

const struct leat_arg leat_stream_args[] = {
    LEAT_ARG(leat_stream_options, on_error, CHOICE,
             "what happens at a bad record; with fail, the stream ends; with skip, leat counts the "
             "record and leaves it out; with quarantine, leat also writes the record to the file "
             "of the option `quarantine`",
             .fallback = "fail", .choices = on_error_choices),
    LEAT_ARG(leat_stream_options, quarantine, PATH,
             "the file for the bad records of this stream; each bad record becomes a line of JSON "
             "with file, line, column, offset, stage, field, reason and raw bytes",
             .is_aside = true),
    LEAT_ARG(leat_stream_options, max_errors, INT,
             "the maximum number of bad records per epoch; one more bad record ends the stream, "
             "whatever `on_error` says; 0: no limit",
             .is_aside = true, .fallback = "0", .max = 1e15),
    LEAT_ARG(leat_stream_options, seed, INT,
             "the seed of the stream; leat combines it with the seed of each random stage",
             .fallback = "0", .max = 9e15),
    LEAT_ARG(leat_stream_options, uneven, CHOICE,
             "what happens at the end of an epoch if fewer steps than ranks are left; with drop, "
             "leat leaves these steps out; with pad, leat repeats these steps until each rank has "
             "one; with error, the epoch fails",
             .fallback = "drop", .choices = uneven_choices),
    LEAT_ARG(leat_stream_options, on_reload, CHOICE,
             "what happens to trainers when a reload of the configuration changes the stream; with "
             "finish_epoch, they finish their epoch and continue with the new stream; with tell, "
             "they get an error at once",
             .is_aside = true, .fallback = "finish_epoch", .choices = on_reload_choices),
    LEAT_ARG(
        leat_stream_options, on_change, CHOICE,
        "what happens when a file changes while leat reads the stream; with fail, the stream ends "
        "with an error; with follow, the stream continues, and leat counts and logs the change; "
        "with warn, leat also warns the trainers; with auto, a trainer that opened the stream at a "
        "saved position, or that is one of several ranks, gets fail; all other trainers get warn",
        .is_aside = true, .fallback = "auto", .choices = on_change_choices),
    LEAT_ARG(leat_stream_options, skip_steps, TEXTS,
             "steps to leave out, such as 0:17 (epoch:step), 0:100-120, or 17 for step 17 of every "
             "epoch; all other steps keep their numbers and contents",
             .is_aside = true, .max = LEAT_SKIPS_MAX),
    LEAT_ARG(leat_stream_options, skip_records, TEXTS,
             "records to remove from their batches, such as data.csv:17 (file:line), "
             "data.csv:100-120, or the number of a record, which `leatctl where` shows; all other "
             "rows stay in their batches",
             .is_aside = true, .max = LEAT_SKIPS_MAX),
    LEAT_ARG(leat_stream_options, block_bytes, BYTES,
             "the size of a block, the piece of the source that a worker processes at once; this "
             "option changes speed and memory, never the batches",
             .is_aside = true, .fallback = "256KiB", .min = 4096, .max = 64 << 20),
    LEAT_ARG(leat_stream_options, jobs_in_flight, INT,
             "the maximum number of blocks that are in progress or wait; default: the daemon "
             "chooses; this option changes speed and memory, never the batches",
             .is_aside = true, .min = 1, .max = 4096),
    LEAT_ARG(leat_stream_options, collate_batches, INT,
             "the maximum number of batches that one job writes; default: the daemon chooses; this "
             "option changes speed, never the batches",
             .is_aside = true, .min = 1, .max = 256),
    LEAT_ARG(
        leat_stream_options, tuner, CHOICE,
        "with on, the daemon tunes block_bytes, jobs_in_flight, collate_batches and prefetch_size, "
        "except values that you set; with as_set, the daemon's setting `tuner` decides",
        .is_aside = true, .fallback = "as_set", .choices = tuner_choices),
    LEAT_ARG(leat_stream_options, max_record_bytes, BYTES,
             "the maximum size of a record; a longer record is bad", .fallback = "64MiB", .min = 64,
             .max = 1 << 30),
    LEAT_ARG(
        leat_stream_options, max_fields, INT,
        "the maximum number of fields of a record; in JSON, the members of all objects count; a "
        "record with more fields is bad; 0: no limit",
        .fallback = "0", .max = 1 << 30),
    LEAT_ARG(
        leat_stream_options, max_tokens, INT,
        "the maximum number of tokens that `tokenize` may make of a record; a record with more "
        "tokens is bad; 0: no limit",
        .fallback = "0", .max = 1 << 30),
    LEAT_ARG(leat_stream_options, max_batch_bytes, BYTES,
             "the maximum size of a batch; a larger batch ends the stream", .is_aside = true,
             .fallback = "256MiB", .min = 4096, .max = 4294967296.0),
    LEAT_ARG(leat_stream_options, max_window_bytes, BYTES,
             "the maximum memory for the decompression of one file (zstd's window, xz's "
             "dictionary, parts of an Arrow batch); a file that needs more memory counts "
             "as damaged",
             .fallback = "128MiB", .min = 1 << 20, .max = 1 << 30),
    LEAT_ARG(
        leat_stream_options, max_expansion, INT,
        "the maximum number of bytes to which one byte of a compressed file may expand; the first "
        "64 MiB of output have no limit; a file that expands beyond this limit "
        "counts as damaged; 0: no limit",
        .fallback = "1000", .max = 1e9),
    LEAT_ARG(
        leat_stream_options, decode_ahead, BYTES,
        "the maximum number of bytes that leat decompresses before the reader needs them; 0: leat "
        "decompresses nothing ahead; this option changes speed and memory, never the batches",
        .is_aside = true, .fallback = "128MiB", .max = 1LL << 34),
    LEAT_ARG(
        leat_stream_options, verify, CHOICE,
        "how leat checks that the data has not changed when a stream resumes; with sample, leat "
        "compares sizes and a sample of each file's bytes; with full, leat compares all bytes",
        .is_aside = true, .fallback = "sample", .choices = verify_choices),
    LEAT_ARG(leat_stream_options, index, TEXT,
             "the place of the index: auto (the daemon's state_directory), off, or a folder; with "
             "an index, a stream resumes quickly in the middle of an epoch; if the stream has a "
             "`cache`, the index is in the cache; this option changes speed, never the batches",
             .is_aside = true, .fallback = "auto"),
    LEAT_ARG(leat_stream_options, cache, GROUP,
             "keeps the output of the source and the per-record stages on disk; later epochs and "
             "other trainers read this output",
             .is_aside = true, .group = leat_cache_args),
    LEAT_ARGS_END,
};
