/* report.h: what `run` and `pull` print about batches: shapes, counts, rates, digest.
 *
 * The digest is BLAKE2b-256 over all batches in order; for each: epoch, step, number of tensors
 * (u64 little endian each), then for each tensor its name and dtype's name (length as u64, bytes),
 * ndim, each dimension, size in bytes (u64 each), and its bytes. Owner: the one thread.
 */
#pragma once

#include "client/cli/base/arguments.h"
#include "client/transport/view.h"
#include "proto/base/blake2b.h"
#include "proto/base/error.h"
#include "proto/leat.pb-c.h"

struct leat_cli_report {
    enum leat_cli_format format;
    bool wants_digest;
    const char *stream;
    const char *how; /* "shared", "copy", "inline" */
    struct leat_blake2b digest;
    struct leat_text first; /* tensors of the first batch, as JSON */
    uint64_t n_batches, n_rows, n_epochs;
    uint64_t start_ns, end_ns;
    bool has_tokens; /* n_tokens and n_bad_records are known */
    uint64_t n_tokens, n_bad_records;
    char last_bad[LEAT_ERROR_PRINT_MAX]; /* the last bad record's error; "": unknown */
    bool wants_profile;
    struct leat_text profile; /* text, or members of a JSON object */
};

void leat_cli_report_init(struct leat_cli_report *report,
                          const struct leat_cli_arguments *arguments, const char *stream,
                          const char *how);
void leat_cli_report_batch(struct leat_cli_report *report, const struct leat_view *view);
/* Adds the profile to the summary, if it is wanted. */
void leat_cli_report_profile(struct leat_cli_report *report, const Leat__StreamStats *stats);
/* Stops the clock after the last batch. */
void leat_cli_report_stop(struct leat_cli_report *report);
/* Prints the summary and frees. */
void leat_cli_report_finish(struct leat_cli_report *report);
