#include "pipeline/spec/stream_options.h"

static const char *const on_error_choices[] = {"fail", "skip", "quarantine", NULL};
static const char *const verify_choices[] = {"sample", "full", NULL};
static const char *const uneven_choices[] = {"drop", "pad", "error", NULL};
static const char *const on_reload_choices[] = {"finish_epoch", "tell", NULL};
static const char *const on_change_choices[] = {"auto", "fail", "warn", "follow", NULL};
static const char *const tuner_choices[] = {"as_set", "off", "on", NULL};

const struct leat_arg leat_stream_args[] = {
    LEAT_ARG(leat_stream_options, on_error, CHOICE,
             "what happens at a bad record: the stream ends (fail), leat counts and skips it "
             "(skip), or also writes it to `quarantine`",
             .fallback = "fail", .choices = on_error_choices),
    LEAT_ARG(leat_stream_options, quarantine, PATH,
             "the stream's own file for bad records, as JSON Lines: file, line, column, offset, "
             "stage, field, reason and raw bytes",
             .is_aside = true),
    LEAT_ARG(leat_stream_options, max_errors, INT,
             "the most bad records per epoch; above it, the stream fails in any case; 0: no limit",
             .is_aside = true, .fallback = "0", .max = 1e15),
    LEAT_ARG(leat_stream_options, seed, INT,
             "seed of the whole stream, combined with that of every random stage", .fallback = "0",
             .max = 9e15),
    LEAT_ARG(leat_stream_options, uneven, CHOICE,
             "what happens to the last steps of an epoch if there is not one for each rank: drop: "
             "they are left out; pad: batches of that round repeat, from its first on; error: the "
             "epoch fails",
             .fallback = "drop", .choices = uneven_choices),
    LEAT_ARG(leat_stream_options, on_reload, CHOICE,
             "what trainers get when a reload of the configuration changes the stream: they finish "
             "their epoch and continue with the new stream, or end at once with an error (tell)",
             .is_aside = true, .fallback = "finish_epoch", .choices = on_reload_choices),
    LEAT_ARG(leat_stream_options, on_change, CHOICE,
             "what happens when a file changes while the stream is read: the stream ends with an "
             "error (fail), or leat counts and logs it and continues (warn, follow); auto: fail "
             "for a trainer that opened at a position or is one of several ranks, else warn",
             .is_aside = true, .fallback = "auto", .choices = on_change_choices),
    LEAT_ARG(leat_stream_options, skip_steps, TEXTS,
             "steps to leave out, such as 0:17 (epoch:step), 0:100-120, or 17 for every epoch; all "
             "other steps keep their numbers and contents",
             .is_aside = true, .max = LEAT_SKIPS_MAX),
    LEAT_ARG(
        leat_stream_options, skip_records, TEXTS,
        "records to take out of their batches, such as data.csv:17 (file:line), data.csv:100-120, "
        "or numbers from 0, which `leatctl where` shows; all other rows stay where they are",
        .is_aside = true, .max = LEAT_SKIPS_MAX),
    LEAT_ARG(leat_stream_options, block_bytes, BYTES,
             "bytes of source in one unit of work; changes speed and memory, never the batches",
             .is_aside = true, .fallback = "256KiB", .min = 4096, .max = 64 << 20),
    LEAT_ARG(leat_stream_options, jobs_in_flight, INT,
             "blocks in progress or waiting at once; default: the daemon chooses; changes speed "
             "and memory, never the batches",
             .is_aside = true, .min = 1, .max = 4096),
    LEAT_ARG(leat_stream_options, collate_batches, INT,
             "batches that one job puts into slots; default: the daemon chooses; changes speed, "
             "never the batches",
             .is_aside = true, .min = 1, .max = 256),
    LEAT_ARG(leat_stream_options, tuner, CHOICE,
             "on: the daemon adapts those of block_bytes, jobs_in_flight, collate_batches and "
             "prefetch_size that you leave out; as_set: its settings decide",
             .is_aside = true, .fallback = "as_set", .choices = tuner_choices),
    LEAT_ARG(leat_stream_options, max_record_bytes, BYTES, "a longer record is bad",
             .fallback = "64MiB", .min = 64, .max = 1 << 30),
    LEAT_ARG(leat_stream_options, max_fields, INT,
             "a record with more fields is bad (JSON: members of all its objects); 0: no limit",
             .fallback = "0", .max = 1 << 30),
    LEAT_ARG(leat_stream_options, max_tokens, INT,
             "a record with more tokens from `tokenize` is bad; 0: no limit", .fallback = "0",
             .max = 1 << 30),
    LEAT_ARG(leat_stream_options, max_batch_bytes, BYTES, "a larger batch fails the stream",
             .is_aside = true, .fallback = "256MiB", .min = 4096, .max = 4294967296.0),
    LEAT_ARG(leat_stream_options, max_window_bytes, BYTES,
             "the most memory to read a compressed file (zstd's window, xz's dictionary; parts of "
             "an Arrow batch); a file that needs more counts as damaged",
             .fallback = "128MiB", .min = 1 << 20, .max = 1 << 30),
    LEAT_ARG(leat_stream_options, max_expansion, INT,
             "the most decompressed bytes per byte of a compressed file, after the first 64 MiB; a "
             "file with more counts as damaged; 0: no limit",
             .fallback = "1000", .max = 1e9),
    LEAT_ARG(leat_stream_options, decode_ahead, BYTES,
             "the most bytes of compressed files that are decoded ahead, in parallel; 0: none; "
             "changes speed and memory, never the batches",
             .is_aside = true, .fallback = "128MiB", .max = 1LL << 34),
    LEAT_ARG(leat_stream_options, verify, CHOICE,
             "how a stream that resumes checks that the data is the same: by sizes and a sample of "
             "each file's bytes, or by all bytes",
             .is_aside = true, .fallback = "sample", .choices = verify_choices),
    LEAT_ARG(leat_stream_options, index, TEXT,
             "where leat keeps what it needs to resume in mid-epoch without a new pass: auto (with "
             "the daemon's state), off, or a folder; a stream with a `cache` keeps it there; "
             "changes speed, never the batches",
             .is_aside = true, .fallback = "auto"),
    LEAT_ARG(leat_stream_options, cache, GROUP,
             "keeps the output of source and per-record stages; later epochs and other trainers "
             "read it from there",
             .is_aside = true, .group = leat_cache_args),
    LEAT_ARGS_END,
};
