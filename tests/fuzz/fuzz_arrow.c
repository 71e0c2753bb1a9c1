/* fuzz_arrow.c: an Arrow file: what is seen of it as a file and through a pipe is the same as far
 * as both go, what is seen from the place of a record on is what comes behind it, and the records
 * make the same rows in one piece and in small ones. Errors are final; a reader that is made to go
 * on behind them, or at other rows, still gives nothing but what it should.
 *
 * The first byte chooses the arguments, the second the limits; the rest is the file.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_arrow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROWS_MAX                                                                                   \
    2000 /* a file may say that it has millions, and most of the time would go there               \
          */

static const char *const args[] = {
    "{ paths: in }",
    "{ paths: in, missing: {f: 1} }",
    "{ paths: in, fields: {messages: json, id: int64, f: \"f float16\"}, missing: {id: 1} }",
    "{ paths: in, fields: {k: text}, invalid_utf8: fail }",
    "{ paths: in, fields: {x: \"meta.n.x uint8\", t: \"text json\", v: \"vec list<int32>\"} }",
};

static void parse_twice(struct source *source, const struct arrow_view *view) {
    struct leat_text whole = {.data = NULL}, pieces = {.data = NULL};
    struct leat_error err = LEAT_ERROR_INIT, again = LEAT_ERROR_INIT;
    int r;

    r = source_parse(source, view->frames, view->n_bytes, 0, false, &whole, &err);
    if (source_parse(source, view->frames, view->n_bytes, 100, false, &pieces, &again) != r ||
        whole.n_bytes != pieces.n_bytes ||
        (whole.n_bytes && memcmp(whole.data, pieces.data, whole.n_bytes) != 0))
        abort();
    free(whole.data);
    free(pieces.data);
}

static void enter(const struct source *source, const uint8_t *data, size_t size,
                  const struct leat_input_limits *limits, const struct arrow_view *view) {
    size_t frame = data[size / 2] % view->n_frames, start = view->starts[frame];
    struct arrow_view rest;

    if (view->places[frame] == 0)
        return;
    arrow_see(source, data, size, ARROW_FILE, limits, view->places[frame], &rest);
    if (rest.r != view->r || rest.n_bytes != view->n_bytes - start ||
        (rest.n_bytes && memcmp(rest.frames, view->frames + start, rest.n_bytes) != 0))
        abort();
    arrow_view_deinit(&rest);
}

static void compare_pipe(const struct source *source, const uint8_t *data, size_t size,
                         const struct leat_input_limits *limits, const struct arrow_view *view) {
    struct arrow_view piped;
    size_t n;

    arrow_see(source, data, size, ARROW_PIPE, limits, 0, &piped);
    n = piped.n_bytes < view->n_bytes ? piped.n_bytes : view->n_bytes;
    if (memcmp(data, "ARROW1", 6) != 0 && n > 0 && memcmp(piped.frames, view->frames, n) != 0)
        abort();
    arrow_view_deinit(&piped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_input_limits limits = {.max_window_bytes = 1 << 20, .max_expansion = 1};
    struct leat_error err = LEAT_ERROR_INIT;
    struct arrow_view view;
    struct source source;

    if (size < 10 || size > 65536)
        return 0;
    limits.max_record_bytes = 64 + 16 * (uint64_t)data[1];
    if (source_init(&source, "arrow", args[data[0] % (sizeof(args) / sizeof(*args))], &err) < 0)
        abort();
    data += 2;
    size -= 2;
    arrow_see(&source, data, size, ARROW_FILE, &limits, 0, &view);
    if (view.n_frames > 0 && view.n_frames < ROWS_MAX &&
        source_probe(&source, view.frames, view.n_bytes, true, &err) == 0) {
        parse_twice(&source, &view);
        enter(&source, data, size, &limits, &view);
        compare_pipe(&source, data, size, &limits, &view);
        arrow_go_on(&source, data, size, ARROW_FILE, &limits, &view);
        arrow_go_on(&source, data, size, ARROW_PIPE, &limits, &view);
    }
    arrow_view_deinit(&view);
    source_deinit(&source);
    return 0;
}
