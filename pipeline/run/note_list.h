/* note_list.h: texts for the operator until they are taken. The list is bounded, and drops texts
 * when it is full. Owner: the run's thread. */
#pragma once

#include <stddef.h>

#define LEAT_NOTE_LIST_MAX 64

struct leat_note_list {
    char *texts[LEAT_NOTE_LIST_MAX];
    size_t n_texts;
};

void leat_note_list_deinit(struct leat_note_list *list);
/* Adds a copy of the text; drops it without memory. */
void leat_note_list_add(struct leat_note_list *list, const char *text);
/* Adds the text itself, which the list frees. */
void leat_note_list_move(struct leat_note_list *list, char *take_text);
/* The oldest text, which the caller frees; NULL: none. */
char *leat_note_list_take(struct leat_note_list *list);
