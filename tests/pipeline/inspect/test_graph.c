/* test_graph.c: pipeline/graph*.c, explain.c: each stage is there once, segments share out the
 * stages, what flows is what the plan says, and every drawing can be read by whom it is for,
 * whatever the names of fields are. */
#include "pipeline/inspect/graph/draw.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/inspect/explain.h"
#include "pipeline/tokenizer/json.h"
#include "proto/base/utf8.h"
#include "tests/pipeline/shared_stream.h"

#define JSONL "jsonl: {paths: [r.jsonl]}"
#define CASTS "- cast: {input: n, dtype: int64}\n"
#define MIX                                                                                        \
    "mix: {sources: [{jsonl: {paths: r.jsonl}}, {jsonl: {paths: r.jsonl}}, {jsonl: {paths: "       \
    "r.jsonl}}]"                                                                                   \
    ", weights: [3, 1, 1]}"
#define NASTY "\"<&>\\\"\\\\\\n\\x01\\u202e{]\\u2603\""

static const struct {
    const char *source, *options, *stages;
} cases[] = {
    {JSONL, "", CASTS "- select: {fields: [n]}"},
    {JSONL, "", CASTS "- select: {fields: [n]}\n- batch: {batch_size: 4}"},
    {JSONL, "",
     CASTS "- shuffle: {buffer_size: 9}\n- lower: {input: t}\n- dedup: {input: t}\n"
           "- hash_bucket: {input: t, output: h, buckets: 5}\n"
           "- filter: {input: t, empty: false}\n- select: {fields: [n, h]}\n"
           "- repeat: {count: 2}\n- batch: {batch_size: 4}\n"
           "- prefetch: {prefetch_size: 3}"},
    {JSONL, "",
     "- rename: {fields: {t: " NASTY "}}\n- lower: {input: " NASTY "}\n"
     "- hash_bucket: {input: " NASTY ", buckets: 5}\n- select: {fields: [" NASTY "]}"},
    {JSONL, "",
     "- pad: {input: ids, length: 6, value: 0, mask: m}\n- select: {fields: [ids, m]}\n"
     "- cast: {input: ids, output: dead, dtype: float32}\n"
     "- select: {fields: [ids, m]}\n- batch: {batch_size: 4}"},
    {JSONL, "",
     "- cast: {input: ids, dtype: int32}\n- select: {fields: [ids]}\n"
     "- pack: {fields: [ids], length: 12, value: 0, position_ids: p}\n"
     "- batch: {batch_size: 2}"},
    {MIX, "", CASTS "- select: {fields: [n]}\n- batch: {batch_size: 4}"},
    {JSONL, "cache: {path: .}", CASTS "- select: {fields: [n]}\n- batch: {batch_size: 4}"},
    {JSONL, "cache: {path: .}",
     CASTS "- select: {fields: [n]}\n- shuffle: {blocks: true, buffer_size: 4}\n"
           "- batch: {batch_size: 4}"},
    {JSONL, "on_error: quarantine\n    quarantine: '<bad & \"odd\".jsonl>'\n    cache: {path: .}",
     CASTS "- select: {fields: [n]}\n- batch: {batch_size: 4}"},
};
#define N_CASES (sizeof(cases) / sizeof(cases[0]))

static int setup(void **state) {
    if (folder_open(state) < 0)
        return -1;
    folder_print("r.jsonl", "{\"t\": \"a\", \"n\": 1, \"ids\": [1, 2, 3], \"more\": \"x\"}\n"
                            "{\"t\": \"b\", \"n\": 2, \"ids\": [4], \"more\": \"y\"}\n");
    return 0;
}

/* ---- the graph ---- */

static bool is_in(const struct leat_graph_edge *edge, uint32_t column) {
    for (size_t i = 0; i < edge->n_fields; i++)
        if (edge->fields[i].column == column)
            return true;
    return false;
}

static void check_stages(const struct leat_graph *graph) {
    for (size_t i = 0; i < graph->plan->n_stages; i++) {
        unsigned n_homes = 0, n_halves = 0;

        for (uint32_t k = 0; k < graph->n_nodes; k++)
            if (graph->nodes[k].stage == (int32_t)i) {
                n_homes += !graph->nodes[k].is_half;
                n_halves += graph->nodes[k].is_half;
                assert_string_equal(graph->nodes[k].name, graph->plan->stages[i].ops->name);
                assert_true(graph->nodes[k].why[0]);
            }
        assert_int_equal(n_homes, 1);
        assert_true(n_halves <= 1);
    }
}

/* Each step of the map segment is in one segment; fused, they are all in the same. */
static void check_segments(const struct leat_graph *graph) {
    size_t n_steps = graph->plan->n_map + 1, n_found = 0;
    uint32_t n_inside = 0, first = LEAT_GRAPH_NONE;

    for (uint32_t i = 0; i < graph->n_segments; i++) {
        const struct leat_graph_segment *segment = &graph->segments[i];

        assert_true(segment->n_nodes > 0);
        for (uint32_t k = segment->first; k < segment->first + segment->n_nodes; k++)
            assert_int_equal(graph->nodes[k].segment, i);
        n_inside += segment->n_nodes;
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct leat_graph_node *node = &graph->nodes[i];

        n_inside += node->segment == LEAT_GRAPH_NONE;
        if (node->step < 0)
            continue;
        assert_int_equal(node->step, n_found++); /* in the order of execution */
        first = first == LEAT_GRAPH_NONE ? node->segment : first;
        assert_int_equal(node->segment, graph->is_unfused ? first + (uint32_t)node->step : first);
    }
    assert_int_equal(n_inside, graph->n_nodes);
    assert_int_equal(n_found, n_steps);
}

/* Behind the map segment there is what is kept; at the end, the tensors; before it, nothing
 * that the source does not make. */
static void check_flow(const struct leat_graph *graph) {
    const struct leat_plan *plan = graph->plan;

    for (uint32_t i = 0; i < graph->n_edges; i++) {
        const struct leat_graph_edge *edge = &graph->edges[i];
        const struct leat_graph_node *from = &graph->nodes[edge->from];

        assert_true(edge->from < graph->n_nodes && edge->to < graph->n_nodes);
        if (from->step == (int32_t)plan->n_map && edge->flow == LEAT_FLOW_COLUMNS)
            for (uint32_t c = 0; c < plan->n_columns; c++)
                assert_int_equal(is_in(edge, c), plan->is_kept[c] && plan->is_needed[c] &&
                                                     plan->fields[c].made == LEAT_MADE_OF_RECORDS &&
                                                     graph->columns[c].made_at != LEAT_GRAPH_NONE);
        if (edge->flow != LEAT_FLOW_TENSORS)
            continue;
        assert_int_equal(edge->n_fields, plan->n_tensors);
        for (size_t t = 0; t < plan->n_tensors; t++) {
            assert_string_equal(edge->fields[t].name, plan->tensors[t].name);
            assert_int_equal(edge->fields[t].column, plan->tensors[t].column);
        }
    }
}

/* From each source there is one way, without branches, to the trainer. */
static void check_ways(const struct leat_graph *graph) {
    for (uint32_t i = 0; i < graph->plan->n_sources; i++) {
        uint32_t at = i, n = 0;

        while (graph->nodes[at].role != LEAT_GRAPH_TRAINER) {
            const struct leat_graph_edge *edge = leat_graph_out(graph, at);

            assert_non_null(edge);
            at = edge->to;
            assert_true(++n < graph->n_nodes);
        }
    }
}

static void test_graphs(void **state) {
    (void)state;
    for (size_t i = 0; i < 2 * N_CASES; i++) {
        struct leat_plan *plan =
            stream_plan(cases[i / 2].source, cases[i / 2].options, cases[i / 2].stages);
        struct leat_graph *graph = leat_graph_new(plan, 3, i % 2);

        assert_non_null(graph);
        check_stages(graph);
        check_segments(graph);
        check_flow(graph);
        check_ways(graph);
        leat_graph_free(graph);
        leat_plan_unref(plan);
    }
}

/* ---- drawings ---- */

/* Tags are closed in their order, attributes are quoted, and there are no strange characters. */
static void check_xml(const char *at) {
    char open[64][32];
    size_t depth = 0;

    assert_memory_equal(at, "<?xml ", 6);
    at = strstr(at, "?>") + 2;
    for (; *at; at++) {
        size_t n = strcspn(at + 1, " />\n");

        assert_true(*at == '\n' || (unsigned char)*at >= 0x20);
        if (*at == '&')
            assert_true(strncmp(at, "&amp;", 5) == 0 || strncmp(at, "&lt;", 4) == 0 ||
                        strncmp(at, "&gt;", 4) == 0 || strncmp(at, "&quot;", 6) == 0);
        if (*at != '<')
            continue;
        if (at[1] == '/') {
            assert_true(depth-- > 0);
            assert_memory_equal(at + 2, open[depth], strlen(open[depth]));
        } else {
            assert_true(depth < 64 && n < 32);
            (void)snprintf(open[depth++], 32, "%.*s", (int)n, at + 1);
        }
        for (bool is_quoted = false; *at != '>' || is_quoted; at++) {
            assert_true(*at && (!is_quoted || *at != '<'));
            is_quoted ^= *at == '"';
        }
        depth -= at[-1] == '/';
    }
    assert_int_equal(depth, 0);
}

/* One word, quoted string or sign of DOT; NULL at the end. */
static const char *dot_token(const char **at, size_t *ret_n) {
    const char *start;

    *at += strspn(*at, " \n");
    start = *at;
    if (!*start)
        return NULL;
    if (*start == '"') {
        for ((*at)++; **at != '"'; (*at)++) {
            assert_true(**at && (unsigned char)**at >= 0x20);
            *at += **at == '\\';
        }
        (*at)++;
    } else if (isalnum((unsigned char)*start) || *start == '_') {
        while (isalnum((unsigned char)**at) || **at == '_')
            (*at)++;
    } else {
        *at += strncmp(start, "->", 2) == 0 ? 2 : 1;
    }
    *ret_n = (size_t)(*at - start);
    return start;
}

/* Braces and brackets are closed, and nothing stands where DOT has no place for it. */
static void check_dot(const char *at) {
    const char *token;
    size_t n = 0, depth = 0;
    bool is_list = false;

    assert_memory_equal(at, "digraph leat {", 14);
    while ((token = dot_token(&at, &n))) {
        if (n == 1 && *token == '{')
            depth++;
        else if (n == 1 && *token == '}')
            assert_true(!is_list && depth-- > 0);
        else if (n == 1 && (*token == '[' || *token == ']')) {
            assert_int_equal(is_list, *token == ']');
            is_list = *token == '[';
        } else if (!isalnum((unsigned char)*token) && *token != '"')
            assert_true((n == 2 && !is_list) || strchr(is_list ? "=," : "=;", *token));
    }
    assert_int_equal(depth, 0);
}

static void check_json(const char *text) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_json_node root;
    struct leat_json *json;

    assert_int_equal(leat_json_new(1 << 20, &json), 0);
    if (leat_json_parse(json, text, strlen(text), strlen(text), &root, &err) < 0)
        fail_msg("%s\n%s", err.message, text);
    leat_json_free(json);
}

static void check_text(const char *text) {
    assert_true(leat_utf8_is_valid(text, strlen(text)));
    for (; *text; text++)
        assert_true(*text == '\n' || ((unsigned char)*text >= 0x20 && *text != 0x7f));
}

static void test_drawings(void **state) {
    static void (*const checks[])(const char *) = {check_text, check_json, check_dot, check_xml};
    uint64_t step_ns[16] = {1000, 2000};
    struct leat_measurement measured = {.n_bytes = 1000,
                                        .n_records = 10,
                                        .n_rows = 10,
                                        .n_batches = 2,
                                        .n_batch_rows = 10,
                                        .step_ns = step_ns,
                                        .n_step_rows = 10,
                                        .n_epoch_records = 1e6};

    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        struct leat_plan *plan = stream_plan(cases[i].source, cases[i].options, cases[i].stages);
        struct leat_forecast forecast;

        leat_forecast_make(plan, &measured, 2, 2, &forecast);
        for (unsigned k = 0; k < 8; k++) {
            struct leat_explain_options options = {.format = (enum leat_explain_format)(k / 2),
                                                   .n_workers = 2,
                                                   .is_unfused = k % 2,
                                                   .forecast = i % 2 ? &forecast : NULL};
            char *text = leat_explain(plan, &options);

            assert_non_null(text);
            checks[k / 2](text);
            free(text);
        }
        leat_plan_unref(plan);
    }
}

static void test_words(void **state) {
    struct leat_plan *plan = stream_plan(cases[2].source, cases[2].options, cases[2].stages);
    char *text = stream_explain(plan, 2, false);

    (void)state;
    assert_non_null(strstr(text, "moved before shuffle"));
    assert_non_null(
        strstr(text, "does not read these fields, since no stage needs them: ids, more"));
    assert_non_null(strstr(text, "not fused: it orders references"));
    assert_non_null(strstr(text, "it tests each record here"));
    assert_non_null(strstr(text, "costs no time: it only selects or renames fields"));
    free(text);
    leat_plan_unref(plan);
}

/* A source that is read in another order. */
static void test_blocks(void **state) {
    static const char stages[] =
        CASTS "- select: {fields: [n]}\n- shuffle: {blocks: true, block_size: 77, buffer_size: 9}\n"
              "- batch: {batch_size: 4}";
    struct leat_plan *plan = stream_plan(JSONL, "", stages);
    char *text = stream_explain(plan, 2, false);

    (void)state;
    assert_non_null(
        strstr(text, "reads blocks of 77 records in random order; before the first epoch, leat"));
    free(text);
    leat_plan_unref(plan);
    plan = stream_plan(JSONL, "cache: {path: .}", stages);
    text = stream_explain(plan, 2, false);
    assert_non_null(strstr(text, "reads blocks of 77 records in random order\n"));
    assert_non_null(strstr(text, "leat builds the cache before the first epoch"));
    free(text);
    leat_plan_unref(plan);
}

static void test_lines(void **state) {
    const char *text = "one two \xe2\x98\x83\xe2\x98\x83 threefourfive";

    (void)state;
    assert_int_equal(leat_graph_wrap(text, strlen(text), 100), strlen(text));
    assert_int_equal(leat_graph_wrap(text, strlen(text), 9), 8);
    assert_int_equal(leat_graph_wrap("abcdef", 6, 4), 4);
    assert_int_equal(leat_graph_wrap("\xe2\x98\x83", 3, 1), 3); /* at least one */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graphs), cmocka_unit_test(test_drawings),
        cmocka_unit_test(test_words),  cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_lines),
    };

    return cmocka_run_group_tests(tests, setup, folder_close);
}
