/* exec/hand.c: see exec/hand.h. Reasons of bad records are made of these words, so
 * nothing in them depends on timing: no tags, no numbers of processes. */
#include "pipeline/stages/exec/hand.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define QUOTED_MAX 60

int leat_exec_hand_init(struct leat_exec_hand *hand, uint32_t n_ahead) {
    *hand = (struct leat_exec_hand){.n_failures = 0};
    leat_helper_init(&hand->helper);
    return leat_exec_asked_init(&hand->asked, n_ahead + 1);
}

void leat_exec_hand_deinit(struct leat_exec_hand *hand) {
    leat_exec_hand_kill(hand, NULL);
    leat_helper_deinit(&hand->helper);
    leat_exec_asked_deinit(&hand->asked);
}

void leat_exec_hand_kill(struct leat_exec_hand *hand, int *ret_status) {
    leat_helper_kill(&hand->helper, ret_status);
    leat_exec_asked_clear(&hand->asked);
    hand->is_open = hand->is_closing = hand->has_answered = false;
    hand->stray[0] = '\0';
}

/* ---- words ---- */

/* What is not printable ASCII is a question mark: this goes to logs and terminals. An object is
 * left out, since there is a tag in it. */
static void quote(char text[QUOTED_MAX + 4], const char *line, size_t n_bytes) {
    size_t n = 0;

    for (; n < n_bytes && n < QUOTED_MAX && (n == 0 || text[n - 1] != '{'); n++)
        text[n] = line[n] >= 0x20 && line[n] < 0x7f ? line[n] : '?';
    (void)strcpy(text + n, n < n_bytes ? "..." : "");
}

void leat_exec_hand_note_broken(struct leat_exec_hand *hand, const char *line, size_t n_bytes,
                                const struct leat_error *fault) {
    char quoted[QUOTED_MAX + 4];

    quote(quoted, line, n_bytes);
    if (quoted[0] == '{')
        (void)snprintf(hand->stray, sizeof(hand->stray), "what is not JSON: byte %u: %.70s",
                       fault->column, fault->message);
    else
        (void)snprintf(hand->stray, sizeof(hand->stray), "\"%s\"", quoted);
}

void leat_exec_hand_note_kind(struct leat_exec_hand *hand, enum leat_json_kind kind) {
    (void)snprintf(hand->stray, sizeof(hand->stray), "%s%s", leat_json_kind_name(kind),
                   kind == LEAT_JSON_OBJECT ? " without \"" LEAT_EXEC_TAG "\"" : "");
}

void leat_exec_hand_note_long(struct leat_exec_hand *hand) {
    (void)snprintf(hand->stray, sizeof(hand->stray), "a line longer than max_line_bytes");
}

void leat_exec_hand_explain(struct leat_exec_hand *hand, char *text, size_t size) {
    const char *words = leat_helper_last_words(&hand->helper);
    size_t n = strlen(text);

    if (hand->stray[0] && n < size)
        n += (size_t)snprintf(text + n, size - n, "; it wrote %s", hand->stray);
    if (words[0] && n < size)
        (void)snprintf(text + n, size - n, "; it said: %s", words);
}
