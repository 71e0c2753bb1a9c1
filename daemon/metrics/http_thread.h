/* http_thread.h: the thread of the HTTP listener. Owner: the thread, from run on. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct leat_http_thread;

/* listen_fd: is used through a duplicate. input: from which pointers to readings come, of which
 * n_pending are on the way. Before the thread is made. 0 or -errno. */
int leat_http_thread_new(int listen_fd, bool is_ip, int input, _Atomic uint32_t *n_pending,
                         uint64_t history_bytes, struct leat_http_thread **ret_thread);
/* Its life: until a NULL comes. */
void leat_http_thread_run(struct leat_http_thread *thread);
/* After it has ended. */
struct leat_http_thread *leat_http_thread_free(struct leat_http_thread *thread);
