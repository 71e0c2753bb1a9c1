/* sandbox.h: what the process gives up for good, with the threads and programs that it starts from
 * then on. Call it while the process has one thread. */
#pragma once

#include <stddef.h>

/* Refuses system calls that no part of leat makes (sandbox_calls.def), with EPERM, and new
 * privileges by exec. Returns 0, also if an outer filter (of a unit or container) forbids another
 * one; or -errno: -EINVAL or -ENOSYS if the kernel has no seccomp. */
int leat_sandbox_refuse_calls(void);

/* Allows changes of the file system only below `folders`, and to what is in /dev and /proc: files,
 * directories, links and sockets can be made, written, renamed and removed nowhere else. Open
 * descriptors and memfds stay as they are. leaving: an empty folder that may be removed, too, as
 * may then other empty ones beside it; NULL: none. Returns 0; -ENOSYS or -EOPNOTSUPP if the kernel
 * has no Landlock; or -errno of the folder *ret_failed. */
int leat_sandbox_limit_writes(const char *const *folders, size_t n_folders, const char *leaving,
                              size_t *ret_failed);
