/* fork.h: what a forked child has inherited of open streams. */
#pragma once

#include "client/python/src/link.h"

/* From now on, and no more: a child closes the link's descriptors, so that the session ends with
 * the process that opened it. */
void leat_py_fork_watch(struct leat_py_link *link);
void leat_py_fork_unwatch(struct leat_py_link *link);

/* Once, while the module is made. 0 or a positive errno. */
int leat_py_fork_register(void);
