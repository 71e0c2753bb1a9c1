/* forecast_print.c: a forecast in words and as JSON. One thread. */
#include <string.h>

#include "pipeline/inspect/graph/draw.h"

static void add_rate(struct leat_text *text, double n, const char *unit) {
    leat_graph_add_count(text, n);
    leat_text_add(text, " %s", unit);
}

/* How much of the time of jobs and loop each part takes. */
static void add_share(struct leat_text *text, const char *name, double ns, double all) {
    leat_text_add(text, "%s %.0f %%", name, all > 0 ? 100 * ns / all : 0);
}

static void add_costs(struct leat_text *text, const struct leat_forecast *forecast) {
    double all = forecast->scan_ns + forecast->pass_ns + forecast->encode_ns +
                 forecast->collate_ns + forecast->order_ns;

    leat_text_add(text, "  a record ");
    leat_graph_add_time(text, all / 1e9);
    leat_text_add(text, " of processor time: ");
    add_share(text, "read", forecast->scan_ns, all);
    add_share(text, ", pass", forecast->pass_ns, all);
    if (forecast->encode_ns > 0)
        add_share(text, ", cache", forecast->encode_ns, all);
    add_share(text, ", order", forecast->order_ns, all);
    add_share(text, ", collate", forecast->collate_ns, all);
    leat_text_add(text, "\n  rate     ");
    add_rate(text, forecast->records_per_s, "records/s, ");
    leat_graph_add_bytes(text, (uint64_t)forecast->bytes_per_s);
    leat_text_add(text, "/s of source, ");
    add_rate(text, forecast->rows_per_s, "rows/s");
    leat_text_add(text, ", bounded by %s\n", leat_resource_phrase(forecast->bound));
}

static void add_times(struct leat_text *text, const struct leat_forecast *forecast) {
    const struct leat_measurement *measured = forecast->measurement;

    leat_text_add(text, "  first batch after ");
    leat_graph_add_time(text, forecast->first_batch_s);
    if (forecast->epoch_s > 0) {
        leat_text_add(text, "; first epoch of %s", measured->is_all ? "" : "about ");
        add_rate(text, measured->n_epoch_records, "records in ");
        leat_graph_add_time(text, forecast->epoch_s);
    } else {
        leat_text_add(text, "; an epoch has no end");
    }
    if (forecast->cached_epoch_s > 0) {
        leat_text_add(text, "; from the cache in ");
        leat_graph_add_time(text, forecast->cached_epoch_s);
    }
    leat_text_add(text, "\n");
}

void leat_forecast_text(struct leat_text *text, const struct leat_forecast *forecast) {
    const struct leat_measurement *measured;

    if (!forecast)
        return;
    measured = forecast->measurement;
    if (!measured) {
        leat_text_add(text, "\ntime: not predicted: %s\n", forecast->reason);
        return;
    }
    leat_text_add(text, "\ntime, predicted for %u busy worker%s from ", forecast->n_threads,
                  forecast->n_threads == 1 ? "" : "s");
    add_rate(text, (double)measured->n_records, "records (");
    leat_graph_add_bytes(text, measured->n_bytes);
    leat_text_add(text, ") that were tried in ");
    leat_graph_add_time(text, (double)measured->elapsed_ns / 1e9);
    leat_text_add(
        text,
        ",\nfor an idle machine, files in its memory, and a trainer that takes batches at once\n");
    add_costs(text, forecast);
    add_times(text, forecast);
}

static void add_number(struct leat_text *text, const char *name, double value) {
    leat_text_add(text, ", \"%s\": %.6g", name, value);
}

void leat_forecast_json(struct leat_text *text, const struct leat_forecast *forecast) {
    const struct leat_measurement *measured = forecast ? forecast->measurement : NULL;

    if (!forecast) {
        leat_text_add(text, "null");
        return;
    }
    leat_text_add(text, "{\"is_measured\": %s, \"reason\": ", measured ? "true" : "false");
    leat_text_add_json(text, measured ? "" : forecast->reason,
                       measured ? 0 : strlen(forecast->reason));
    if (measured) {
        leat_text_add(text, ", \"n_threads\": %u, \"bound\": \"%s\", \"is_all\": %s",
                      forecast->n_threads, leat_resource_name(forecast->bound),
                      measured->is_all ? "true" : "false");
        add_number(text, "sample_bytes", (double)measured->n_bytes);
        add_number(text, "sample_records", (double)measured->n_records);
        add_number(text, "sample_s", (double)measured->elapsed_ns / 1e9);
        add_number(text, "read_ns", forecast->scan_ns);
        add_number(text, "pass_ns", forecast->pass_ns);
        add_number(text, "order_ns", forecast->order_ns);
        add_number(text, "collate_ns", forecast->collate_ns);
        add_number(text, "cache_write_ns", forecast->encode_ns);
        add_number(text, "cache_read_ns", forecast->load_ns);
        add_number(text, "records_per_s", forecast->records_per_s);
        add_number(text, "rows_per_s", forecast->rows_per_s);
        add_number(text, "source_bytes_per_s", forecast->bytes_per_s);
        add_number(text, "epoch_records", measured->n_epoch_records);
        add_number(text, "epoch_s", forecast->epoch_s);
        add_number(text, "first_batch_s", forecast->first_batch_s);
        add_number(text, "cached_records_per_s", forecast->cached_records_per_s);
        add_number(text, "cached_epoch_s", forecast->cached_epoch_s);
    }
    leat_text_add(text, "}");
}
