/* stream_options.c: see stream_options.h. */
#include "pipeline/spec/stream_options.h"

static const char *const on_error_choices[] = {"fail", "skip", "quarantine", NULL};
static const char *const verify_choices[] = {"sample", "full", NULL};
static const char *const uneven_choices[] = {"drop", "pad", "error", NULL};
static const char *const on_reload_choices[] = {"finish_epoch", "tell", NULL};
static const char *const on_change_choices[] = {"auto", "fail", "warn", "follow", NULL};
static const char *const tuner_choices[] = {"as_set", "off", "on", NULL};

const struct leat_arg leat_stream_args[] = {
    LEAT_ARG(
        leat_stream_options, on_error, CHOICE,
        "what a bad record does: ends the stream, is counted, or is also written to `quarantine`",
        .fallback = "fail", .choices = on_error_choices),
    LEAT_ARG(leat_stream_options, quarantine, PATH,
             "file of JSON lines for bad records, this stream's own: file, line, column, offset, "
             "stage, field, reason and raw bytes",
             .is_aside = true),
    LEAT_ARG(leat_stream_options, max_errors, INT,
             "bad records an epoch above which the stream fails all the same; 0: any number",
             .is_aside = true, .fallback = "0", .max = 1e15),
    LEAT_ARG(leat_stream_options, seed, INT,
             "seed of the whole stream, folded into that of every random stage", .fallback = "0",
             .max = 9e15),
    LEAT_ARG(leat_stream_options, uneven, CHOICE,
             "of several ranks, what becomes of the last steps of an epoch that are not one for "
             "each of them: they are left out; the round is filled up with its batches again, from "
             "its first on; or the epoch fails",
             .fallback = "drop", .choices = uneven_choices),
    LEAT_ARG(leat_stream_options, on_reload, CHOICE,
             "what becomes of trainers when a reload of the daemon's configuration makes the "
             "stream another one: they finish their epoch as it was and go on with the new one, or "
             "are told at once (tell), by an error",
             .is_aside = true, .fallback = "finish_epoch", .choices = on_reload_choices),
    LEAT_ARG(leat_stream_options, on_change, CHOICE,
             "what a file that changes while the stream is read does: it ends the stream with an "
             "error (fail), or is counted and logged, and the stream goes on (warn, follow); auto: "
             "fail for a trainer that opened at a position or is one of several ranks, else warn",
             .is_aside = true, .fallback = "auto", .choices = on_change_choices),
    LEAT_ARG(leat_stream_options, skip_steps, TEXTS,
             "steps that are left out, as 0:17 (epoch:step), 0:100-120, or 17 for every epoch; all "
             "others keep their numbers and contents",
             .is_aside = true, .max = LEAT_SKIPS_MAX),
    LEAT_ARG(leat_stream_options, skip_records, TEXTS,
             "records that are taken out of their batches, as data.csv:17 (file:line), "
             "data.csv:100-120, or as numbers from 0 that `leatctl where` tells; all other rows "
             "stay where they are",
             .is_aside = true, .max = LEAT_SKIPS_MAX),
    LEAT_ARG(leat_stream_options, block_bytes, BYTES,
             "bytes of source in one unit of work; changes speed and memory, never the batches",
             .is_aside = true, .fallback = "256KiB", .min = 4096, .max = 64 << 20),
    LEAT_ARG(leat_stream_options, jobs_in_flight, INT,
             "blocks that are worked on or wait to be at once; if not given, the daemon chooses; "
             "changes speed and memory, never the batches",
             .is_aside = true, .min = 1, .max = 4096),
    LEAT_ARG(leat_stream_options, collate_batches, INT,
             "batches that one job puts into slots; if not given, the daemon chooses; changes "
             "speed, never the batches",
             .is_aside = true, .min = 1, .max = 256),
    LEAT_ARG(leat_stream_options, tuner, CHOICE,
             "whether the daemon turns what is not given of block_bytes, jobs_in_flight, "
             "collate_batches and prefetch_size; as_set: as its settings say",
             .is_aside = true, .fallback = "as_set", .choices = tuner_choices),
    LEAT_ARG(leat_stream_options, max_record_bytes, BYTES, "a longer record is bad",
             .fallback = "64MiB", .min = 64, .max = 1 << 30),
    LEAT_ARG(leat_stream_options, max_fields, INT,
             "a record of more fields is bad (JSON: members of all its objects); 0: any number",
             .fallback = "0", .max = 1 << 30),
    LEAT_ARG(leat_stream_options, max_tokens, INT,
             "a record of which `tokenize` makes more tokens is bad; 0: any number",
             .fallback = "0", .max = 1 << 30),
    LEAT_ARG(leat_stream_options, max_batch_bytes, BYTES, "a larger batch fails the stream",
             .is_aside = true, .fallback = "256MiB", .min = 4096, .max = 4294967296.0),
    LEAT_ARG(leat_stream_options, max_window_bytes, BYTES,
             "memory that a compressed file may ask for to be read (zstd's window, xz's "
             "dictionary; what must be held of a batch of Arrow); one that wants more is damaged",
             .fallback = "128MiB", .min = 1 << 20, .max = 1 << 30),
    LEAT_ARG(leat_stream_options, max_expansion, INT,
             "decompressed bytes for each byte of a compressed file, behind the first 64 MiB; one "
             "that holds more is damaged; 0: any number",
             .fallback = "1000", .max = 1e9),
    LEAT_ARG(leat_stream_options, decode_ahead, BYTES,
             "bytes of compressed files that are decoded ahead, in parallel, at most; 0: none; "
             "changes speed and memory, never the batches",
             .is_aside = true, .fallback = "128MiB", .max = 1LL << 34),
    LEAT_ARG(leat_stream_options, verify, CHOICE,
             "how it is found out, when a stream goes on at a position, that the data is the same: "
             "by sizes and some of the bytes of each file, or by all of them",
             .is_aside = true, .fallback = "sample", .choices = verify_choices),
    LEAT_ARG(leat_stream_options, index, TEXT,
             "where it is kept what the order of records needs of each block, so that a start in "
             "mid-epoch need not make what lies before: auto (with the daemon's state), off, or a "
             "folder; a stream with a `cache` has it there. Changes speed, never the batches",
             .is_aside = true, .fallback = "auto"),
    LEAT_ARG(leat_stream_options, cache, GROUP,
             "keeps what source and per-record stages make: later epochs and other trainers read "
             "it instead of making it again",
             .is_aside = true, .group = leat_cache_args),
    LEAT_ARGS_END,
};
