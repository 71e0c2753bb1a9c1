/* shared_arrow.c: see shared_arrow.h. */
#include "tests/pipeline/shared_arrow.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define READ_BYTES 7777 /* at a time: frames come in parts */

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
        if (view->r < 0)
            return;
        if (view->r == LEAT_INPUT_HOLE) {
            assert(next == view->n_bytes); /* no record goes over a hole */
            place = leat_input_cross(input);
            from = view->n_bytes;
        }
        n += view->r != 0;
        view->r = 0;
    }
}

void arrow_see(const struct source *source, const void *bytes, size_t n_bytes, enum arrow_how how,
               const struct leat_input_limits *limits, uint64_t place,
               struct arrow_view *ret_view) {
    struct memory_opener opener = {.base = {.open_file = open_memory, .open_stream = open_memory}};
    struct leat_input *file = NULL, *input = NULL;
    uint64_t n = place;

    *ret_view = (struct arrow_view){.r = 0};
    opener.fd = make_fd(bytes, n_bytes, how);
    ret_view->r = leat_input_open(&opener.base, "in", limits, &file, &ret_view->err);
    assert(ret_view->r == 0);
    ret_view->r = source->ops->look_into(source->config, limits, file, &input, &ret_view->err);
    assert(ret_view->r == 0);
    if (place > 0)
        ret_view->r = leat_input_seek(input, &n, &ret_view->err);
    if (ret_view->r == 0)
        read_all(input, place, ret_view);
    leat_input_close(input);
    (void)close(opener.fd);
}

void arrow_view_deinit(struct arrow_view *view) {
    free(view->frames);
    free(view->places);
    free(view->starts);
}
