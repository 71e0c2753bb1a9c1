/* exec/worker.c: see exec/worker.h. A tag is the number of the question times an odd constant: no
 * two of 2^32 are equal, and a program that counts lines does not hit one. Reasons of bad records
 * are made of the words here, so nothing in them depends on timing: no tags, no process numbers. */
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
    pending->ring = NULL;
}

uint32_t leat_exec_pending_add(struct leat_exec_pending *pending, uint32_t row) {
    uint32_t at = (pending->first + pending->n++) % pending->capacity;

    pending->ring[at].row = row;
    pending->ring[at].tag = ++pending->n_ever * TAG_FACTOR;
    return pending->ring[at].tag;
}

uint32_t leat_exec_pending_take(struct leat_exec_pending *pending) {
    uint32_t row = pending->ring[pending->first].row;

    pending->first = (pending->first + 1) % pending->capacity;
    pending->n--;
    return row;
}

uint32_t leat_exec_pending_take_back(struct leat_exec_pending *pending) {
    return pending->ring[(pending->first + --pending->n) % pending->capacity].row;
}

bool leat_exec_pending_ends_with_record(const struct leat_exec_pending *pending) {
    uint32_t last = (pending->first + pending->n - 1) % pending->capacity;

    return pending->n > 0 && pending->ring[last].row != LEAT_EXEC_CANARY;
}

void leat_exec_tag_write(char text[LEAT_EXEC_TAG_BYTES], uint32_t tag) {
    for (int i = 0; i < LEAT_EXEC_TAG_BYTES; i++)
        text[i] = "0123456789abcdef"[tag >> (28 - 4 * i) & 15];
}

enum leat_exec_match leat_exec_pending_match(const struct leat_exec_pending *pending,
                                             struct leat_json_node line, uint32_t *ret_place) {
    char tag[LEAT_EXEC_TAG_BYTES];
    struct leat_json_node node;
    const char *text;
    size_t n = 0;

    if (leat_json_kind(line) != LEAT_JSON_OBJECT ||
        !leat_json_find(line, LEAT_EXEC_TAG, sizeof(LEAT_EXEC_TAG) - 1, &node))
        return LEAT_EXEC_STRAY;
    text = leat_json_kind(node) == LEAT_JSON_STRING ? leat_json_string(node, &n) : NULL;
    for (uint32_t i = 0; n == sizeof(tag) && i < pending->n; i++) {
        leat_exec_tag_write(tag, pending->ring[(pending->first + i) % pending->capacity].tag);
        if (memcmp(text, tag, sizeof(tag)) == 0) {
            *ret_place = i;
            return LEAT_EXEC_ANSWER;
        }
    }
    return LEAT_EXEC_MISTAGGED;
}

/* ---- the worker ---- */

int leat_exec_worker_init(struct leat_exec_worker *worker, uint32_t n_ahead) {
    *worker = (struct leat_exec_worker){.n_failures = 0};
    leat_helper_init(&worker->helper);
    return leat_exec_pending_init(&worker->pending, n_ahead + 1);
}

void leat_exec_worker_deinit(struct leat_exec_worker *worker) {
    leat_exec_worker_kill(worker, NULL);
    leat_helper_deinit(&worker->helper);
    leat_exec_pending_deinit(&worker->pending);
}

void leat_exec_worker_kill(struct leat_exec_worker *worker, int *ret_status) {
    leat_helper_kill(&worker->helper, ret_status);
    worker->pending.n = 0;
    worker->has_answered = false;
    worker->stray[0] = '\0';
}

/* What is not printable ASCII is a question mark: this goes to logs and terminals. An object is
 * left out, since there may be a tag in it. */
void leat_exec_worker_note(struct leat_exec_worker *worker, const char *line, size_t n_bytes,
                           const struct leat_error *fault) {
    char quoted[QUOTED_MAX + 1] = "";
    size_t n = 0;

    for (; n < n_bytes && n < QUOTED_MAX && (n == 0 || quoted[n - 1] != '{'); n++)
        quoted[n] = line[n] >= 0x20 && line[n] < 0x7f ? line[n] : '?';
    if (quoted[0] != '{')
        (void)snprintf(worker->stray, sizeof(worker->stray), "\"%s%s\"", quoted,
                       n < n_bytes ? "..." : "");
    else if (fault)
        (void)snprintf(worker->stray, sizeof(worker->stray), "what is not JSON: byte %u: %.70s",
                       fault->column, fault->message);
    else
        (void)snprintf(worker->stray, sizeof(worker->stray),
                       "an object without \"" LEAT_EXEC_TAG "\"");
}

void leat_exec_worker_note_long(struct leat_exec_worker *worker) {
    (void)snprintf(worker->stray, sizeof(worker->stray), "a line longer than max_line_bytes");
}
