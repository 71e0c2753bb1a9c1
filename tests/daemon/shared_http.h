/* shared_http.h: a web server that gives the answers that it was told to, one for each request, on
 * a thread of its own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct http_server;

/* Answers are whole: status line, header lines, an empty line, a body. The last one is given again
 * and again. "": the connection ends without one. "!" in front: it is reset behind the answer. */
struct http_server *http_start(const char *const *answers, size_t n_answers);
const char *http_url(const struct http_server *server); /* http://127.0.0.1:PORT */
unsigned http_port(const struct http_server *server);
/* Ends it. The requests so far, each with its head and its body, one behind the other; free it. */
char *http_stop(struct http_server *server, size_t *ret_n_requests);
