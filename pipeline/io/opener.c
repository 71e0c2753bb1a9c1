/* opener.c: openers that may read whatever this process can, and reading of whole files. See
 * opener.h. */
#include "pipeline/io/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/array.h"
#include "proto/base/elsewhere.h"

#define READ_BYTES 65536 /* at least, at a time */

/* Opened anew, so that it is ours alone: O_NONBLOCK is of the open file, not of the descriptor. */
#define STDIN "/proc/self/fd/0"

/* O_NONBLOCK, so that a FIFO does not hold the caller up. */
static int open_of_type(const char *path, bool may_be_fifo, struct leat_error *err) {
    struct stat info;
    int fd = open(may_be_fifo && strcmp(path, "-") == 0 ? STDIN : path,
                  O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return leat_elsewhere_fail(path, -errno, err);
    if (fstat(fd, &info) < 0 ||
        (!S_ISREG(info.st_mode) && !(may_be_fifo && S_ISFIFO(info.st_mode)))) {
        (void)close(fd);
        return leat_error_set(err, -EINVAL, "%s: this is not a regular file%s", path,
                              may_be_fifo ? " or FIFO" : "");
    }
    return fd;
}

static int open_file(const struct leat_opener *opener, const char *path, struct leat_error *err) {
    (void)opener;
    return open_of_type(path, false, err);
}

static int open_stream(const struct leat_opener *opener, const char *path, struct leat_error *err) {
    (void)opener;
    return open_of_type(path, true, err);
}

static int open_directory(const struct leat_opener *opener, const char *path,
                          struct leat_error *err) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)opener;
    return fd < 0 ? leat_elsewhere_fail(path, -errno, err) : fd;
}

const struct leat_opener leat_opener_any = {
    .open_file = open_file, .open_directory = open_directory, .open_stream = open_stream};
const struct leat_opener leat_opener_operator = {.open_file = open_file,
                                                 .open_directory = open_directory,
                                                 .open_stream = open_stream,
                                                 .may_execute = true};

static int read_all(int fd, const char *path, size_t limit_bytes, char **data, size_t *n_bytes,
                    struct leat_error *err) {
    size_t capacity = 0;

    for (;;) {
        ssize_t n;

        if (!leat_array_reserve(data, *n_bytes + READ_BYTES, &capacity))
            return leat_error_oom(err);
        n = read(fd, *data + *n_bytes, capacity - *n_bytes - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return leat_error_set(err, -errno, "%s: %s", path, strerror(errno));
        if (n == 0)
            break;
        *n_bytes += (size_t)n;
        if (*n_bytes > limit_bytes)
            return leat_error_set(err, -EFBIG, "%s: the file is larger than %zu bytes", path,
                                  limit_bytes);
    }
    (*data)[*n_bytes] = '\0';
    return 0;
}

int leat_opener_read(const struct leat_opener *opener, const char *path, size_t limit_bytes,
                     char **ret_data, size_t *ret_size, struct leat_error *err) {
    int fd = opener->open_file(opener, path, err), r;

    if (fd < 0)
        return fd;
    *ret_data = NULL;
    *ret_size = 0;
    r = read_all(fd, path, limit_bytes, ret_data, ret_size, err);
    (void)close(fd);
    if (r < 0) {
        free(*ret_data);
        *ret_data = NULL;
    }
    return r;
}

int leat_opener_read_optional(const struct leat_opener *opener, const char *path,
                              size_t limit_bytes, char **ret_data, size_t *ret_size,
                              struct leat_error *err) {
    struct leat_error error = LEAT_ERROR_INIT;
    int r = leat_opener_read(opener, path, limit_bytes, ret_data, ret_size, &error);

    if (r < 0 && r != -ENOENT)
        *err = error;
    return r;
}
