/* http_thread.h: the thread of the HTTP listener. Owner: the thread, from run on. */
#pragma once

#include <stdint.h>

struct leat_http;
struct leat_http_thread;

/* Uses the listening socket through a duplicate, the pipe from which pointers to readings come, and
 * what says who may look. Before the thread is made. 0 or -errno. */
int leat_http_thread_new(struct leat_http *http, uint64_t history_bytes,
                         struct leat_http_thread **ret_thread);
/* Its life: until a NULL comes. */
void leat_http_thread_run(struct leat_http_thread *thread);
/* After it has ended. */
struct leat_http_thread *leat_http_thread_free(struct leat_http_thread *thread);
