/* fuzz_arrow.c: an Arrow file: what is seen of it as a file and through a pipe is the same as far
 * as both go, what is seen from the place of a record on is what comes behind it, and the records
 * make the same rows in one piece and in small ones. Errors are final; a reader that is made to go
 * on behind them, or at other rows, still gives nothing but what it should.
 *
 * The first byte chooses the arguments, the second the limits; the rest is the file.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/mutate.h"
#include "tests/pipeline/shared_arrow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_MUTATOR(2, mutate_in_place(data, size, seed))

static const char *const args[] = {
    "{ paths: in }",
    "{ paths: in, missing: {f: 1} }",
    "{ paths: in, fields: {messages: json, id: int64, f: \"f float16\"}, missing: {id: 1} }",
    "{ paths: in, fields: {k: text}, invalid_utf8: fail }",
    "{ paths: in, fields: {x: \"meta.n.x uint8\", t: \"text json\", v: \"vec list<int32>\"} }",
};

/* Checks that a pipe gives the same rows as a file, as far as both go. */
static void compare_pipe(const char *chosen, const uint8_t *data, size_t size,
                         const struct leat_input_limits *limits) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct arrow_view view, piped;
    struct source source;
    size_t n;

    if (source_init(&source, "arrow", chosen, &err) < 0)
        abort();
    arrow_see(&source, data, size, ARROW_FILE, limits, 0, &view);
    if (view.n_frames == 0 || view.n_frames >= ARROW_ROWS_MAX) {
        arrow_view_deinit(&view);
        source_deinit(&source);
        return;
    }
    arrow_see(&source, data, size, ARROW_PIPE, limits, 0, &piped);
    n = piped.n_bytes < view.n_bytes ? piped.n_bytes : view.n_bytes;
    if (memcmp(data, "ARROW1", 6) != 0 && n > 0 && memcmp(piped.frames, view.frames, n) != 0)
        abort();
    arrow_go_on(&source, data, size, ARROW_PIPE, limits, &view);
    arrow_view_deinit(&view);
    arrow_view_deinit(&piped);
    source_deinit(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_input_limits limits = {.max_window_bytes = 1 << 20, .max_expansion = 1};
    const char *chosen;

    if (size < 10 || size > 65536)
        return 0;
    limits.max_record_bytes = 64 + 16 * (uint64_t)data[1];
    chosen = args[data[0] % (sizeof(args) / sizeof(*args))];
    arrow_fuzz("arrow", chosen, data + 2, size - 2, &limits);
    compare_pipe(chosen, data + 2, size - 2, &limits);
    return 0;
}
