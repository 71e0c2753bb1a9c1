/* fuzz_bench.c: any bytes as a saved result of `leatctl bench`, and as the values of `--vary`: read
 * and shown, or refused with a reason. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/bench/bench.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void show(const struct leat_bench *bench) {
    struct leat_text text = {.data = NULL};

    leat_bench_table(bench, &text);
    leat_bench_comparison(bench, bench->cases[0], bench->cases[bench->n_cases - 1], false, &text);
    leat_bench_to_json(bench, &text);
    assert(text.n_bytes > 0);
    free(text.data);
}

static void read_result(const uint8_t *data, size_t n_bytes) {
    struct leat_bench *bench = calloc(1, sizeof(*bench));
    struct leat_error err = LEAT_ERROR_INIT;
    int r;

    assert(bench);
    r = leat_bench_from_json((const char *)data, n_bytes, "r.json", bench, &err);
    assert(r <= 0 && (r < 0) == (err.code < 0));
    assert(r == 0 || err.message[0]);
    if (r == 0 && bench->n_cases > 0)
        show(bench);
    leat_bench_deinit(bench);
    free(bench);
}

static void read_values(const uint8_t *data, size_t n_bytes) {
    char *text = strndup((const char *)data, n_bytes);
    struct leat_spec spec = {.name = (char *)"s", .source = {.kind = (char *)"csv"}};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_bench_axis axis;
    int r;

    assert(text);
    r = leat_bench_axis_init(&axis, "--vary", text, &spec, &err);
    assert(r == 0 ? axis.n_values >= 1 && axis.path[0] : err.message[0] != '\0');
    assert(axis.n_values <= LEAT_BENCH_MAX_CASES);
    leat_bench_axis_deinit(&axis);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    if (n_bytes > 0 && data[0] == '{')
        read_result(data, n_bytes);
    else
        read_values(data, n_bytes);
    return 0;
}
