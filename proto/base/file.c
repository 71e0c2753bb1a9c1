#include "proto/base/file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t time_ns(struct timespec time) {
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void leat_file_close(int *fd) {
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

int leat_file_stat(int fd, struct leat_file_state *ret_state) {
    struct stat info;

    if (fstat(fd, &info) < 0)
        return -errno;
    *ret_state = (struct leat_file_state){.device = info.st_dev,
                                          .inode = info.st_ino,
                                          .n_bytes = (uint64_t)info.st_size,
                                          .modified_ns = time_ns(info.st_mtim),
                                          .changed_ns = time_ns(info.st_ctim)};
    return S_ISREG(info.st_mode) ? 0 : 1;
}

ssize_t leat_file_read(int fd, void *data, size_t n_bytes, uint64_t offset) {
    size_t n_read = 0;

    while (n_read < n_bytes) {
        ssize_t n = pread(fd, (uint8_t *)data + n_read, n_bytes - n_read, (off_t)(offset + n_read));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        n_read += (size_t)n;
    }
    return (ssize_t)n_read;
}

int leat_file_write(int fd, const void *data, size_t n_bytes, uint64_t offset) {
    size_t n_written = 0;

    while (n_written < n_bytes) {
        ssize_t n = pwrite(fd, (const uint8_t *)data + n_written, n_bytes - n_written,
                           (off_t)(offset + n_written));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        n_written += (size_t)n;
    }
    return 0;
}
