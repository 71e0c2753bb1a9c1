#include "client/cli/run/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/cli/base/output.h"
#include "client/cli/base/profile.h"
#include "client/cli/base/units.h"
#include "proto/base/clock.h"
#include "proto/base/json_writer.h"
#include "proto/base/scalar.h"
#include "proto/base/text.h"

#define MAX_VALUES 12 /* that are shown of a tensor */

void leat_cli_report_init(struct leat_cli_report *report,
                          const struct leat_cli_arguments *arguments, const char *stream,
                          const char *how) {
    *report = (struct leat_cli_report){
        .format = arguments->json ? LEAT_CLI_JSON : (enum leat_cli_format)arguments->format,
        .wants_digest = arguments->digest,
        .wants_profile = arguments->stats,
        .stream = stream,
        .how = how,
        .start_ns = leat_now_ns(),
    };
    leat_blake2b_init(&report->digest);
}

static void digest_tensor(struct leat_blake2b *digest, const struct leat_tensor *tensor) {
    leat_blake2b_text(digest, tensor->name);
    leat_blake2b_text(digest, tensor->dtype_name);
    leat_blake2b_u64(digest, tensor->ndim);
    for (uint32_t d = 0; d < tensor->ndim; d++)
        leat_blake2b_u64(digest, tensor->shape[d]);
    leat_blake2b_u64(digest, tensor->size_bytes);
    leat_blake2b_update(digest, tensor->data, tensor->size_bytes);
}

static void digest_batch(struct leat_blake2b *digest, const struct leat_view *view) {
    leat_blake2b_u64(digest, view->header.epoch);
    leat_blake2b_u64(digest, view->header.step);
    leat_blake2b_u64(digest, view->header.n_tensors);
    for (size_t i = 0; i < view->header.n_tensors; i++)
        digest_tensor(digest, &view->tensors[i]);
}

static void add_shape(struct leat_text *text, const struct leat_tensor *tensor) {
    leat_text_add(text, "[");
    for (uint32_t d = 0; d < tensor->ndim; d++)
        leat_text_add(text, "%s%" PRIu64, d ? ", " : "", tensor->shape[d]);
    leat_text_add(text, "]");
}

static void add_tensors_json(struct leat_text *json, const char *key,
                             const struct leat_view *view) {
    leat_json_open(json, key, '[');
    for (size_t i = 0; i < view->header.n_tensors; i++) {
        const struct leat_tensor *tensor = &view->tensors[i];

        leat_json_open(json, NULL, '{');
        leat_json_add_text(json, "name", tensor->name);
        leat_json_add_text(json, "dtype", tensor->dtype_name);
        leat_json_open(json, "shape", '[');
        for (uint32_t d = 0; d < tensor->ndim; d++)
            leat_json_add_uint(json, NULL, tensor->shape[d]);
        leat_json_close(json, ']');
        leat_json_close(json, '}');
    }
    leat_json_close(json, ']');
}

static void print_batch_line(const struct leat_view *view) {
    struct leat_text text = {.data = NULL};
    struct leat_blake2b digest;
    uint8_t bytes[LEAT_DIGEST_BYTES];
    char hex[LEAT_DIGEST_HEX_SIZE];

    leat_blake2b_init(&digest);
    digest_batch(&digest, view);
    leat_blake2b_final(&digest, bytes);
    leat_digest_hex(bytes, hex);
    leat_json_open(&text, NULL, '{');
    leat_json_add_uint(&text, "epoch", view->header.epoch);
    leat_json_add_uint(&text, "step", view->header.step);
    leat_json_add_uint(&text, "rows", view->header.n_rows);
    add_tensors_json(&text, "tensors", view);
    leat_json_add_text(&text, "digest", hex);
    leat_json_close(&text, '}');
    leat_text_add(&text, "\n");
    leat_cli_print(&text);
}

static void add_values(struct leat_text *text, const struct leat_tensor *tensor) {
    enum leat_dtype dtype = (enum leat_dtype)tensor->dtype;
    uint64_t n = tensor->size_bytes / leat_dtype_size(dtype);
    char value[LEAT_SCALAR_TEXT_MAX];

    for (uint64_t i = 0; i < n && i < MAX_VALUES; i++) {
        if (leat_dtype_is_integer(dtype))
            (void)leat_scalar_print(tensor->data, dtype, i, value);
        else
            (void)snprintf(value, sizeof(value), "%g", leat_scalar_double(tensor->data, dtype, i));
        leat_text_add(text, " %s", value);
    }
    if (n > MAX_VALUES)
        leat_text_add(text, " ...");
}

static void print_first_batch(const struct leat_cli_report *report, const struct leat_view *view) {
    struct leat_text text = {.data = NULL};
    int width = 0;

    for (size_t i = 0; i < view->header.n_tensors; i++)
        if ((int)leat_show(NULL, 0, view->tensors[i].name) > width)
            width = (int)leat_show(NULL, 0, view->tensors[i].name);
    leat_text_add_line(&text, "%s, first batch: epoch %" PRIu64 ", step %" PRIu64 ", %u rows",
                       report->stream, view->header.epoch, view->header.step, view->header.n_rows);
    for (size_t i = 0; i < view->header.n_tensors; i++) {
        const struct leat_tensor *tensor = &view->tensors[i];
        size_t start;

        leat_text_add(&text, "  ");
        leat_text_add_shown(&text, tensor->name);
        leat_text_add(&text, "%*s  %-8s  ", width - (int)leat_show(NULL, 0, tensor->name), "",
                      tensor->dtype_name);
        start = text.n_bytes;
        add_shape(&text, tensor);
        leat_text_add(&text, "%*s ",
                      (int)(start + 12 > text.n_bytes ? start + 12 - text.n_bytes : 0), "");
        add_values(&text, tensor);
        leat_text_add(&text, "\n");
    }
    leat_cli_print(&text);
}

void leat_cli_report_batch(struct leat_cli_report *report, const struct leat_view *view) {
    if (report->n_batches == 0 && report->format == LEAT_CLI_TEXT)
        print_first_batch(report, view);
    if (report->n_batches == 0 && report->format == LEAT_CLI_JSON)
        add_tensors_json(&report->first, NULL, view);
    if (report->format == LEAT_CLI_JSONL)
        print_batch_line(view);
    if (report->wants_digest)
        digest_batch(&report->digest, view);
    report->n_batches++;
    report->n_rows += view->header.n_rows;
}

void leat_cli_report_profile(struct leat_cli_report *report, const Leat__StreamStats *stats) {
    if (!report->wants_profile)
        return;
    if (report->format == LEAT_CLI_TEXT)
        leat_cli_profile_text(&report->profile, stats);
    else
        leat_cli_profile_json(&report->profile, stats);
}

void leat_cli_report_stop(struct leat_cli_report *report) {
    report->end_ns = leat_now_ns();
}

static uint64_t per_second(uint64_t n, uint64_t ns) {
    return ns ? (uint64_t)((double)n * 1e9 / (double)ns) : 0;
}

static void add_json_summary(const struct leat_cli_report *report, const char *digest,
                             const char *key, struct leat_text *json) {
    uint64_t ns = report->end_ns - report->start_ns;

    leat_json_open(json, key, '{');
    leat_json_add_text(json, "stream", report->stream);
    leat_json_add_text(json, "delivery", report->how);
    leat_json_add_uint(json, "epochs", report->n_epochs);
    leat_json_add_uint(json, "batches", report->n_batches);
    leat_json_add_uint(json, "rows", report->n_rows);
    leat_json_add_double(json, "seconds", (double)ns / 1e9);
    leat_json_add_uint(json, "batches_per_second", per_second(report->n_batches, ns));
    leat_json_add_uint(json, "rows_per_second", per_second(report->n_rows, ns));
    if (report->has_tokens) {
        leat_json_add_uint(json, "tokens", report->n_tokens);
        leat_json_add_uint(json, "tokens_per_second", per_second(report->n_tokens, ns));
        leat_json_add_uint(json, "bad_records", report->n_bad_records);
    }
    if (report->n_bad_records > 0 && report->last_bad[0])
        leat_json_add_text(json, "last_bad", report->last_bad);
    if (digest)
        leat_json_add_text(json, "digest", digest);
    if (report->first.data)
        leat_json_add_raw(json, "tensors", report->first.data, report->first.n_bytes);
    if (report->profile.data) {
        leat_json_open(json, "profile", '{');
        leat_text_add_bytes(json, report->profile.data, report->profile.n_bytes);
        leat_json_close(json, '}');
    }
    leat_json_close(json, '}');
}

static void add_text_summary(const struct leat_cli_report *report, const char *digest,
                             struct leat_text *text) {
    uint64_t ns = report->end_ns - report->start_ns;
    char buffer[LEAT_CLI_UNIT_MAX];

    leat_text_add(text, "%s batch%s, ", leat_cli_count(report->n_batches, buffer),
                  report->n_batches == 1 ? "" : "es");
    leat_text_add(text, "%s row%s", leat_cli_count(report->n_rows, buffer),
                  report->n_rows == 1 ? "" : "s");
    if (report->n_tokens > 0)
        leat_text_add(text, ", %s token%s", leat_cli_count(report->n_tokens, buffer),
                      report->n_tokens == 1 ? "" : "s");
    leat_text_add(text, " in %s (%s)\n", leat_cli_duration(ns, buffer), report->how);
    leat_text_add(text, "%s batches/s, ",
                  leat_cli_count(per_second(report->n_batches, ns), buffer));
    leat_text_add(text, "%s rows/s", leat_cli_count(per_second(report->n_rows, ns), buffer));
    if (report->n_tokens > 0)
        leat_text_add(text, ", %s tokens/s",
                      leat_cli_count(per_second(report->n_tokens, ns), buffer));
    leat_text_add(text, "\n");
    if (report->n_bad_records > 0)
        leat_text_add_line(text, "%s bad record%s%s%s",
                           leat_cli_count(report->n_bad_records, buffer),
                           report->n_bad_records == 1 ? "" : "s",
                           report->last_bad[0] ? "; the last one: " : "", report->last_bad);
    if (digest)
        leat_text_add(text, "digest %s\n", digest);
    if (report->profile.data)
        leat_text_add(text, "%s", report->profile.data);
}

void leat_cli_report_finish(struct leat_cli_report *report) {
    struct leat_text text = {.data = NULL};
    uint8_t bytes[LEAT_DIGEST_BYTES];
    char hex[LEAT_DIGEST_HEX_SIZE];
    const char *digest = NULL;

    if (report->wants_digest) {
        leat_blake2b_final(&report->digest, bytes);
        leat_digest_hex(bytes, hex);
        digest = hex;
    }
    if (report->format == LEAT_CLI_TEXT) {
        add_text_summary(report, digest, &text);
    } else if (report->format == LEAT_CLI_JSON || digest || report->profile.data) {
        if (report->format == LEAT_CLI_JSONL)
            leat_json_open(&text, NULL, '{');
        add_json_summary(report, digest, report->format == LEAT_CLI_JSONL ? "summary" : NULL,
                         &text);
        if (report->format == LEAT_CLI_JSONL)
            leat_json_close(&text, '}');
        leat_text_add(&text, "\n");
    }
    leat_cli_print(&text);
    free(report->first.data);
    free(report->profile.data);
    report->first = report->profile = (struct leat_text){.data = NULL};
}
