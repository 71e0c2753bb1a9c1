/* exec/worker.c: see exec/worker.h.
 *
 * A tag is the number of the question times an odd constant: no two of 2^32 are equal, and a
 * program that counts lines does not hit one. Reasons of bad records are made here, so they hold
 * nothing that depends on timing: no tags, no process numbers.
 */
#include "pipeline/stages/exec/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG_FACTOR UINT32_C(2654435769) /* 2^32 over the golden ratio (Knuth 6.4) */
#define QUOTED_MAX 60

/* ---- pending records ---- */

int leat_exec_pending_init(struct leat_exec_pending *pending, uint32_t capacity) {
    *pending = (struct leat_exec_pending){.capacity = capacity};
    pending->ring = calloc(capacity, sizeof(*pending->ring));
    return pending->ring ? 0 : -ENOMEM;
}

void leat_exec_pending_deinit(struct leat_exec_pending *pending) {
    free(pending->ring);
    *pending = (struct leat_exec_pending){.ring = NULL};
}

void leat_exec_pending_clear(struct leat_exec_pending *pending) {
    pending->n = 0;
    pending->has_last = false;
}

uint32_t leat_exec_pending_add(struct leat_exec_pending *pending, uint32_t row) {
    uint32_t tag = ++pending->n_ever * TAG_FACTOR;

    pending->ring[(pending->first + pending->n++) % pending->capacity] =
        (struct leat_exec_question){.row = row, .tag = tag};
    return tag;
}

uint32_t leat_exec_pending_take(struct leat_exec_pending *pending) {
    pending->last = pending->ring[pending->first];
    pending->has_last = true;
    pending->first = (pending->first + 1) % pending->capacity;
    pending->n--;
    return pending->last.row;
}

uint32_t leat_exec_pending_take_back(struct leat_exec_pending *pending) {
    return pending->ring[(pending->first + --pending->n) % pending->capacity].row;
}

void leat_exec_tag_write(char text[LEAT_EXEC_TAG_BYTES], uint32_t tag) {
    for (int i = 0; i < LEAT_EXEC_TAG_BYTES; i++)
        text[i] = "0123456789abcdef"[tag >> (28 - 4 * i) & 15];
}

static bool is_tag(const char *text, size_t n, uint32_t tag) {
    char expected[LEAT_EXEC_TAG_BYTES];

    leat_exec_tag_write(expected, tag);
    return n == sizeof(expected) && memcmp(text, expected, n) == 0;
}

enum leat_exec_match leat_exec_pending_match(const struct leat_exec_pending *pending,
                                             struct leat_json_node line, uint32_t *ret_place) {
    struct leat_json_node node;
    const char *text;
    size_t n;

    if (leat_json_kind(line) != LEAT_JSON_OBJECT ||
        !leat_json_find(line, LEAT_EXEC_TAG, sizeof(LEAT_EXEC_TAG) - 1, &node))
        return LEAT_EXEC_STRAY;
    if (leat_json_kind(node) != LEAT_JSON_STRING)
        return LEAT_EXEC_MISTAGGED;
    text = leat_json_string(node, &n);
    for (*ret_place = 0; *ret_place < pending->n; ++*ret_place)
        if (is_tag(text, n, pending->ring[(pending->first + *ret_place) % pending->capacity].tag))
            return LEAT_EXEC_ANSWER;
    return pending->has_last && is_tag(text, n, pending->last.tag) ? LEAT_EXEC_AGAIN
                                                                   : LEAT_EXEC_MISTAGGED;
}

/* ---- the process ---- */

int leat_exec_worker_init(struct leat_exec_worker *worker, uint32_t n_pending) {
    *worker = (struct leat_exec_worker){.n_failures = 0};
    leat_helper_init(&worker->helper);
    return leat_exec_pending_init(&worker->pending, n_pending + 1);
}

void leat_exec_worker_deinit(struct leat_exec_worker *worker) {
    leat_exec_worker_kill(worker, NULL);
    leat_helper_deinit(&worker->helper);
    leat_exec_pending_deinit(&worker->pending);
}

void leat_exec_worker_kill(struct leat_exec_worker *worker, int *ret_status) {
    leat_helper_kill(&worker->helper, ret_status);
    leat_exec_pending_clear(&worker->pending);
    worker->is_open = worker->is_closing = worker->has_answered = false;
    worker->stray[0] = '\0';
}

/* The text goes to logs and terminals, so other bytes than printable ASCII become question marks.
 * It leaves out an object, which may hold a tag. */
void leat_exec_worker_note_broken(struct leat_exec_worker *worker, const char *line, size_t n_bytes,
                                  const struct leat_error *fault) {
    char quoted[QUOTED_MAX + 1] = "";
    size_t n = 0;

    for (; n < n_bytes && n < QUOTED_MAX && (n == 0 || quoted[n - 1] != '{'); n++)
        quoted[n] = line[n] >= 0x20 && line[n] < 0x7f ? line[n] : '?';
    if (quoted[0] == '{')
        (void)snprintf(worker->stray, sizeof(worker->stray), "invalid JSON: byte %u: %.70s",
                       fault->column, fault->message);
    else
        (void)snprintf(worker->stray, sizeof(worker->stray), "\"%s%s\"", quoted,
                       n < n_bytes ? "..." : "");
}

void leat_exec_worker_explain(struct leat_exec_worker *worker, char *text, size_t size) {
    const char *said = leat_helper_last_words(&worker->helper);

    (void)snprintf(text, size, "%s%s%s%s", worker->stray[0] ? "; it wrote to stdout: " : "",
                   worker->stray, said[0] ? "; it wrote to stderr: " : "", said);
}
