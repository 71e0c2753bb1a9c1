/* shared_stepped.h: a daemon without listeners, driven turn by turn by the test: connections are
 * ends of socketpairs. For fuzzing: what a run does follows from its input alone. */
#pragma once

#include "daemon/core/daemon.h"
#include "daemon/trainer/delivery.h"

/* Made at the first call and kept; made anew if the last input ended it. Its streams: "numbers", 4
 * batches of one int64 column, and "lists", padded to the longest. Aborts if that fails. */
struct leat_daemon *test_stepped_daemon(void);

/* Turns until nothing is on the pool and nothing is due at once. */
void test_stepped_run(struct leat_daemon *daemon);
/* Ends all sessions and control connections, and the daemon if it is draining. */
void test_stepped_end(struct leat_daemon *daemon);
