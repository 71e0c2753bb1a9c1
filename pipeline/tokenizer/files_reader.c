/* files_reader.c: plain files: leat_tokenizer_plain_reader. See files.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/tokenizer/files.h"

static int fail(struct leat_error *err, const char *path, int code, const char *what) {
    leat_error_set(err, code, "%s: %s", what, strerror(-code));
    leat_error_locate(err, path, 0, 0);
    return code;
}

/* Does not wait for the other end of a FIFO. */
static int open_regular(const char *path, size_t max_bytes, size_t *ret_size,
                        struct leat_error *err) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), r = 0;
    struct stat status;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return -ENOENT;
    if (fd < 0)
        return fail(err, path, -errno, "cannot open");
    if (fstat(fd, &status) < 0)
        r = fail(err, path, -errno, "cannot look at");
    else if (!S_ISREG(status.st_mode))
        r = leat_error_set(err, -EINVAL, "is no regular file");
    else if ((uint64_t)status.st_size > max_bytes)
        r = leat_error_set(err, -EFBIG, "has %lld bytes; at most %zu are possible",
                           (long long)status.st_size, max_bytes);
    if (r < 0) {
        leat_error_locate(err, path, 0, 0);
        (void)close(fd);
        return r;
    }
    *ret_size = (size_t)status.st_size;
    return fd;
}

/* As much as the file had when it was opened; less if it was cut since. */
static int read_all(int fd, const char *path, char *data, size_t size, size_t *ret_n,
                    struct leat_error *err) {
    size_t n = 0;

    while (n < size) {
        ssize_t got = read(fd, data + n, size - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(err, path, -errno, "cannot read");
        if (got == 0)
            break;
        n += (size_t)got;
    }
    data[n] = '\0';
    *ret_n = n;
    return 0;
}

static int read_file(void *context, const char *path, size_t max_bytes, char **ret_data,
                     size_t *ret_n, struct leat_error *err) {
    size_t size = 0;
    int fd = open_regular(path, max_bytes, &size, err), r;
    char *data;

    (void)context;
    if (fd < 0)
        return fd;
    data = malloc(size + 1);
    r = data ? read_all(fd, path, data, size, ret_n, err) : leat_error_oom(err);
    (void)close(fd);
    if (r < 0) {
        free(data);
        return r;
    }
    *ret_data = data;
    return 0;
}

static bool is_directory(void *context, const char *path) {
    struct stat status;

    (void)context;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

const struct leat_tokenizer_reader leat_tokenizer_plain_reader = {.read = read_file,
                                                                  .is_directory = is_directory};
