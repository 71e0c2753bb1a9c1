/* shared_arrow.c: see shared_arrow.h. */
#include "tests/pipeline/shared_arrow.h"

#include "pipeline/io/input_internal.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define READ_BYTES   7777       /* at a time: stripes come in parts */
#define HEADER_BYTES (1U << 20) /* of the largest one */
#define LENS_BYTES   (1U << 20) /* behind errors there may be millions of rows */

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

static void add_frame(struct arrow_view *view, uint64_t place, size_t start) {
    if ((view->n_frames & (view->n_frames - 1)) == 0) { /* full at each power of two */
        view->places = reallocarray(view->places, 2 * view->n_frames + 1, sizeof(*view->places));
        view->starts = reallocarray(view->starts, 2 * view->n_frames + 1, sizeof(*view->starts));
    }
    assert(view->places && view->starts);
    view->starts[view->n_frames] = start;
    view->places[view->n_frames++] = place;
}

static void read_layout(const uint8_t *header, struct leat_arrow_layout *layout) {
    int r =
        leat_arrow_layout_read(header + LEAT_FRAME_HEAD_BYTES, leat_frame_size(header, 0), layout);

    assert(r == 0);
}

/* Makes frames of the stripes that are complete, and takes down where they are. */
static void follow(struct arrow_view *view, struct leat_arrow_layout *layout, uint64_t place,
                   size_t from, size_t *next) {
    uint32_t n_frames;
    size_t n;

    while ((n = leat_cutter_stripe(view->stripes + *next, view->n_bytes - *next, &n_frames)) > 0) {
        if (!layout->slots)
            read_layout(view->stripes, layout);
        leat_arrow_stripes_to_frames(layout, view->stripes + *next, n, view->frames + *next);
        for (uint32_t i = 0; i < n_frames; i++) {
            add_frame(view, place + (*next - from), *next);
            *next += leat_frame_size(view->frames + *next, 0) + LEAT_FRAME_BYTES;
        }
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

/* layout: read from the header unless it has slots. */
static void read_all(struct leat_input *input, uint64_t place, struct leat_arrow_layout *layout,
                     struct arrow_view *view) {
    size_t capacity = 0, n = 1, from = 0, next = 0;

    while (n > 0) {
        if (view->n_bytes + READ_BYTES > capacity) {
            capacity = 2 * capacity + READ_BYTES;
            view->stripes = realloc(view->stripes, capacity);
            view->frames = realloc(view->frames, capacity);
            assert(view->stripes && view->frames);
        }
        n = 0;
        view->r = leat_input_read(input, view->stripes + view->n_bytes, READ_BYTES, &n, &view->err);
        view->n_bytes += n;
        follow(view, layout, place, from, &next);
        assert(n > 0 || next == view->n_bytes); /* no record goes over an end, error or hole */
        if (view->r < 0) {
            check_end(input, view);
            return;
        }
        if (view->r == LEAT_INPUT_HOLE) {
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
    struct leat_arrow_layout layout = {.slots = NULL};
    const uint8_t *head = NULL;
    struct arrow_view *view = ret_view;
    uint64_t n = place;
    size_t n_head;

    *view = (struct arrow_view){.r = 0};
    if (place > 0) {
        struct leat_input *other = open_input(source, bytes, n_bytes, how, limits);

        if (leat_input_peek(other, HEADER_BYTES, &head, &n_head, &view->err) < 0 && n_head == 0)
            abort();
        read_layout(head, &layout);
        leat_input_close(other);
        view->r = leat_input_seek(input, &n, &view->err);
    }
    if (view->r == 0)
        read_all(input, place, &layout, view);
    leat_arrow_layout_deinit(&layout);
    leat_input_close(input);
}

/* Parses the stripes, then the frames in pieces: the same rows must come of both. */
static int compare_rows(struct source *source, const struct arrow_view *view, size_t piece_bytes,
                        struct leat_text *text, struct leat_error *err) {
    struct leat_text again = {.data = NULL};
    size_t n_before = text->n_bytes;
    int r = source_parse(source, view->stripes, view->n_bytes, 0, false, text, err);

    if (source_parse(source, view->frames, view->n_bytes, piece_bytes, false, &again, err) != r ||
        again.n_bytes != text->n_bytes - n_before ||
        (again.n_bytes > 0 && memcmp(again.data, text->data + n_before, again.n_bytes) != 0))
        abort();
    free(again.data);
    return r;
}

int arrow_parse(struct source *source, const struct arrow_view *view, size_t piece_bytes,
                struct leat_text *text, struct leat_error *err) {
    struct leat_error other = LEAT_ERROR_INIT;
    struct leat_text some = {.data = NULL};

    source->every = 3;
    (void)compare_rows(source, view, 0, &some, &other);
    source->every = 0;
    free(some.data);
    return compare_rows(source, view, piece_bytes, text, err);
}

/* ---- behind an error ---- */

/* Reads to the reader's end, or to the n_errors-th error. The frames that come before an error must
 * equal those of `expected`, as far as n_expected bytes. layout NULL: they may be anything. */
static void read_records(struct leat_input *input, int n_errors,
                         const struct leat_arrow_layout *layout, const uint8_t *expected,
                         size_t n_expected) {
    uint8_t *bytes = malloc(LENS_BYTES + READ_BYTES), *frames = malloc(LENS_BYTES + READ_BYTES);
    size_t at = 0, next = 0, n = 1, n_stripe;
    uint32_t n_frames;

    assert(bytes && frames);
    while (n > 0 && at < LENS_BYTES) {
        struct leat_error err = LEAT_ERROR_INIT;
        int r;

        n = 0;
        r = input->reader_ops->read(input->reader, bytes + at, READ_BYTES, &n, &err);
        if (n > READ_BYTES || (r < 0 && (n > 0 || err.code != r)))
            abort();
        if (r < 0 && n_errors-- == 0)
            break;
        if (r < 0)
            n_expected = n_expected < at ? n_expected : at;
        at += n;
        while (layout && next < n_expected &&
               (n_stripe = leat_cutter_stripe(bytes + next, at - next, &n_frames)) > 0) {
            leat_arrow_stripes_to_frames(layout, bytes + next, n_stripe, frames);
            if (memcmp(frames, expected + next,
                       n_stripe < n_expected - next ? n_stripe : n_expected - next) != 0)
                abort();
            next += n_stripe;
        }
        if (r == LEAT_INPUT_HOLE)
            (void)leat_input_cross(input);
        n += r != 0;
    }
    free(bytes);
    free(frames);
}

void arrow_go_on(const struct source *source, const void *bytes, size_t n_bytes, enum arrow_how how,
                 const struct leat_input_limits *limits, const struct arrow_view *view) {
    struct leat_input *input = open_input(source, bytes, n_bytes, how, limits);
    struct leat_arrow_layout layout;

    read_layout(view->frames, &layout);
    read_records(input, 8, NULL, NULL, 0);
    for (size_t i = 0; how == ARROW_FILE && i < 4; i++) {
        size_t frame = (view->n_frames - 1) * i / 3;

        input->reader_ops->go(input->reader, view->places[frame]);
        read_records(input, 2, &layout, view->frames + view->starts[frame],
                     view->n_bytes - view->starts[frame]);
        input->reader_ops->go(input->reader, (uint64_t)(i + view->n_frames * i) << 32 | i);
        read_records(input, 2, NULL, NULL, 0);
    }
    leat_arrow_layout_deinit(&layout);
    leat_input_close(input);
}

void arrow_view_deinit(struct arrow_view *view) {
    free(view->stripes);
    free(view->frames);
    free(view->places);
    free(view->starts);
}

/* ---- any bytes ---- */

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
    struct leat_text text = {.data = NULL};
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
        (void)arrow_parse(&source, &view, 100, &text, &err);
        enter(&source, data, size, limits, &view);
        arrow_go_on(&source, data, size, ARROW_FILE, limits, &view);
    }
    free(text.data);
    arrow_view_deinit(&view);
    source_deinit(&source);
}
