/* fuzz_trace.c: a lying daemon: any bytes as what it recorded, in two replies, and as its counters.
 * Whatever they say, what is written is JSON that has each stage and its counters. The table has no
 * control characters. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/profile.h"
#include "client/cli/trace/json.h"
#include "pipeline/tokenizer/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_json(const struct leat_text *text) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_json *json = NULL;
    struct leat_json_node root;

    if (text->failed || leat_json_new(text->n_bytes, &json) < 0)
        return;
    if (leat_json_parse(json, text->data, text->n_bytes, text->n_bytes, &root, &err) < 0)
        abort();
    leat_json_free(json);
}

static void check_trace(const uint8_t *data, size_t n_bytes) {
    Leat__TraceReply *reply = leat__trace_reply__unpack(NULL, n_bytes, data);
    static struct leat_cli_trace_json json;

    if (!reply)
        return;
    leat_cli_trace_json_begin(&json, "s");
    leat_cli_trace_json_add(&json, reply);
    leat_cli_trace_json_add(&json, reply);
    leat_cli_trace_json_end(&json);
    check_json(&json.text);
    free(json.text.data);
    leat__trace_reply__free_unpacked(reply, NULL);
}

/* Each stage is there, in order, with its number of records. */
static void check_stages(const struct leat_text *text, const Leat__StreamStats *stats) {
    struct leat_json_node root, stages, stage, number;
    struct leat_json_iterator it;
    struct leat_json *json = NULL;
    size_t n = 0;

    if (text->failed || leat_json_new(text->n_bytes, &json) < 0)
        return;
    if (leat_json_parse(json, text->data, text->n_bytes, text->n_bytes, &root, LEAT_ERROR_IGNORED) <
            0 ||
        !leat_json_find(root, "stages", 6, &stages) || leat_json_kind(stages) != LEAT_JSON_ARRAY ||
        leat_json_n_items(stages) != stats->n_stages)
        abort();
    for (leat_json_iterate(stages, &it); leat_json_next(&it, &stage); n++)
        if (!leat_json_find(stage, "n_records", 9, &number) ||
            leat_json_uint(number) != stats->stages[n]->n_records)
            abort();
    leat_json_free(json);
}

static void check_shown(const struct leat_text *text) {
    for (size_t i = 0; i < text->n_bytes; i++)
        if ((uint8_t)text->data[i] < 0x20 ? text->data[i] != '\n' : text->data[i] == 0x7f)
            abort();
}

static void check_profile(const uint8_t *data, size_t n_bytes) {
    Leat__StreamStats *stats = leat__stream_stats__unpack(NULL, n_bytes, data);
    struct leat_text text = {.data = NULL}, json = {.data = NULL};

    if (!stats)
        return;
    leat_cli_profile_text(&text, stats);
    leat_text_add(&json, "{");
    leat_cli_profile_json(&json, stats);
    leat_text_add(&json, "}");
    check_stages(&json, stats);
    check_shown(&text);
    free(text.data);
    free(json.data);
    leat__stream_stats__free_unpacked(stats, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    check_trace(data, n_bytes);
    check_profile(data, n_bytes);
    return 0;
}
