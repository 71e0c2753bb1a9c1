/* shared_arrow.c: see shared_arrow.h. */
#include "tests/pipeline/shared_arrow.h"

#include "pipeline/io/input_internal.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define READ_BYTES 7777       /* at a time: frames come in parts */
#define LENS_BYTES (1U << 20) /* behind errors there may be millions of rows */

const struct leat_input_limits arrow_limits = {
    .max_window_bytes = 8 << 20, .max_expansion = 1000, .max_record_bytes = 1 << 20};

struct memory_opener {
    struct leat_opener base;
    int fd;
};

static int open_memory(const struct leat_opener *opener, const char *path, struct leat_error *err) {
    (void)path;
    (void)err;
    return dup(((const struct memory_opener *)opener)->fd);
}

static void write_all(int fd, const uint8_t *bytes, size_t n_bytes) {
    while (n_bytes > 0) {
        ssize_t n = write(fd, bytes, n_bytes);

        assert(n > 0);
        bytes += n;
        n_bytes -= (size_t)n;
    }
}

static int make_fd(const void *bytes, size_t n_bytes, enum arrow_how how) {
    int fds[2];

    if (how == ARROW_FILE) {
        fds[0] = memfd_create("arrow", MFD_CLOEXEC);
        assert(fds[0] >= 0);
        write_all(fds[0], bytes, n_bytes);
        return fds[0];
    }
    assert(n_bytes <= 65536 && pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
    write_all(fds[1], bytes, n_bytes);
    (void)close(fds[1]);
    return fds[0];
}

/* Takes down where the frames are that begin in what came. */
static void follow(struct arrow_view *view, uint64_t place, size_t from, size_t *next) {
    while (*next + LEAT_FRAME_HEAD_BYTES <= view->n_bytes) {
        uint32_t head;

        memcpy(&head, view->frames + *next, sizeof(head));
        if ((view->n_frames & (view->n_frames - 1)) == 0) { /* full at each power of two */
            view->places =
                reallocarray(view->places, 2 * view->n_frames + 1, sizeof(*view->places));
            view->starts =
                reallocarray(view->starts, 2 * view->n_frames + 1, sizeof(*view->starts));
        }
        assert(view->places && view->starts);
        view->starts[view->n_frames] = *next;
        view->places[view->n_frames++] = place + (*next - from);
        *next += (head & ~LEAT_FRAME_IS_BAD) + LEAT_FRAME_HEAD_BYTES + LEAT_FRAME_TAIL_BYTES;
    }
}

/* The first error of an input is final. */
static void check_end(struct leat_input *input, const struct arrow_view *view) {
    for (int i = 0; i < 3; i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        uint8_t bytes[64];
        size_t n;
        int r = leat_input_read(input, bytes, sizeof(bytes), &n, &err);

        if (r != view->r || n != 0 || strcmp(err.message, view->err.message) != 0 ||
            leat_input_jump(input, 0))
            abort();
    }
}

static void read_all(struct leat_input *input, uint64_t place, struct arrow_view *view) {
    size_t capacity = 0, n = 1, from = 0, next = 0;

    while (n > 0) {
        if (view->n_bytes + READ_BYTES > capacity) {
            capacity = 2 * capacity + READ_BYTES;
            view->frames = realloc(view->frames, capacity);
            assert(view->frames);
        }
        n = 0;
        view->r = leat_input_read(input, view->frames + view->n_bytes, READ_BYTES, &n, &view->err);
        view->n_bytes += n;
        follow(view, place, from, &next);
        if (view->r < 0) {
            check_end(input, view);
            return;
        }
        if (view->r == LEAT_INPUT_HOLE) {
            assert(next == view->n_bytes); /* no record goes over a hole */
            place = leat_input_cross(input);
            from = view->n_bytes;
        }
        n += view->r != 0;
        view->r = 0;
    }
}

static struct leat_input *open_input(const struct source *source, const void *bytes, size_t n_bytes,
                                     enum arrow_how how, const struct leat_input_limits *limits) {
    struct memory_opener opener = {.base = {.open_file = open_memory, .open_stream = open_memory},
                                   .fd = make_fd(bytes, n_bytes, how)};
    struct leat_input *file = NULL, *input = NULL;
    struct leat_error err = LEAT_ERROR_INIT;
    int r = leat_input_open(&opener.base, "in", limits, &file, &err);

    assert(r == 0);
    r = source->ops->open_records(source->config, limits, file, &input, &err);
    assert(r == 0);
    (void)close(opener.fd);
    return input;
}

void arrow_see(const struct source *source, const void *bytes, size_t n_bytes, enum arrow_how how,
               const struct leat_input_limits *limits, uint64_t place,
               struct arrow_view *ret_view) {
    struct leat_input *input = open_input(source, bytes, n_bytes, how, limits);
    uint64_t n = place;

    *ret_view = (struct arrow_view){.r = 0};
    if (place > 0)
        ret_view->r = leat_input_seek(input, &n, &ret_view->err);
    if (ret_view->r == 0)
        read_all(input, place, ret_view);
    leat_input_close(input);
}

/* ---- behind an error ---- */

/* What the reader gives up to its end, or up to so many errors; of the first n_expected bytes it
 * must be those, as far as there was no error. */
static void read_records(struct leat_input *input, int n_errors, const uint8_t *expected,
                         size_t n_expected) {
    uint8_t bytes[READ_BYTES];
    size_t at = 0, n = 1;

    while (n > 0 && at < LENS_BYTES) {
        struct leat_error err = LEAT_ERROR_INIT;
        int r;

        n = 0;
        r = input->reader_ops->read(input->reader, bytes, sizeof(bytes), &n, &err);
        if (n > sizeof(bytes) || (r < 0 && (n > 0 || err.code != r)))
            abort();
        if (r < 0 && n_errors-- == 0)
            return;
        if (r < 0)
            n_expected = at;
        if (at < n_expected && n > 0 &&
            memcmp(bytes, expected + at, n < n_expected - at ? n : n_expected - at) != 0)
            abort();
        at += n;
        if (r == LEAT_INPUT_HOLE)
            (void)leat_input_cross(input);
        n += r != 0;
    }
}

void arrow_go_on(const struct source *source, const void *bytes, size_t n_bytes, enum arrow_how how,
                 const struct leat_input_limits *limits, const struct arrow_view *view) {
    struct leat_input *input = open_input(source, bytes, n_bytes, how, limits);

    read_records(input, 8, NULL, 0);
    for (size_t i = 0; how == ARROW_FILE && i < 4; i++) {
        size_t frame = (view->n_frames - 1) * i / 3;

        input->reader_ops->go(input->reader, view->places[frame]);
        read_records(input, 2, view->frames + view->starts[frame],
                     view->n_bytes - view->starts[frame]);
        input->reader_ops->go(input->reader, (uint64_t)(i + view->n_frames * i) << 32 | i);
        read_records(input, 2, NULL, 0);
    }
    leat_input_close(input);
}

void arrow_view_deinit(struct arrow_view *view) {
    free(view->frames);
    free(view->places);
    free(view->starts);
}

/* ---- any bytes ---- */

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
    bool is_limited; /* memory may be larger when more was read before */

    if (view->places[frame] == 0)
        return;
    arrow_see(source, data, size, ARROW_FILE, limits, view->places[frame], &rest);
    is_limited = strstr(rest.err.message, "max_window_bytes") ||
                 strstr(view->err.message, "max_window_bytes");
    if (!is_limited &&
        (rest.r != view->r || rest.n_bytes != view->n_bytes - start ||
         (rest.n_bytes && memcmp(rest.frames, view->frames + start, rest.n_bytes) != 0)))
        abort();
    arrow_view_deinit(&rest);
}

void arrow_fuzz(const char *kind, const char *args, const uint8_t *data, size_t size,
                const struct leat_input_limits *limits) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct arrow_view view;
    struct source source;
    size_t n_head;

    if (source_init(&source, kind, args, &err) < 0)
        abort();
    arrow_see(&source, data, size, ARROW_FILE, limits, 0, &view);
    n_head = view.n_bytes;
    if (view.n_frames > 0 && view.n_frames < ARROW_ROWS_MAX &&
        source_probe(&source, view.frames, view.n_bytes, true, &err) == 0) {
        free(source_shorten(&source, kind, args, view.frames, &n_head, true));
        parse_twice(&source, &view);
        enter(&source, data, size, limits, &view);
        arrow_go_on(&source, data, size, ARROW_FILE, limits, &view);
    }
    arrow_view_deinit(&view);
    source_deinit(&source);
}
