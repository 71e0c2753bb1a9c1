/* file.h: whole reads and writes of files, and how a file is. The functions block. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The state of a file. No clock and no user can set all of it back, so it tells whether the file
 * changed. */
struct leat_file_state {
    uint64_t device, inode, n_bytes;
    int64_t modified_ns, changed_ns;
};

/* Closes the descriptor unless it is -1, which it is then. Async-signal-safe. */
void leat_file_close(int *fd);
/* 0, 1 if it is no regular file, or -errno. */
int leat_file_stat(int fd, struct leat_file_state *ret_state);
/* Reads n_bytes from that offset on, fewer only at the end of the file. Returns how many, or
 * -errno. */
ssize_t leat_file_read(int fd, void *data, size_t n_bytes, uint64_t offset);
/* Writes all of it. 0 or -errno. */
int leat_file_write(int fd, const void *data, size_t n_bytes, uint64_t offset);
