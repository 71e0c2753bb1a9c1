#include "pipeline/run/note_list.h"

#include <stdlib.h>
#include <string.h>

void leat_note_list_deinit(struct leat_note_list *list) {
    while (list->n_texts > 0)
        free(list->texts[--list->n_texts]);
}

void leat_note_list_add(struct leat_note_list *list, const char *text) {
    if (list->n_texts < LEAT_NOTE_LIST_MAX)
        leat_note_list_move(list, strdup(text));
}

void leat_note_list_move(struct leat_note_list *list, char *take_text) {
    if (take_text && list->n_texts < LEAT_NOTE_LIST_MAX)
        list->texts[list->n_texts++] = take_text;
    else
        free(take_text);
}

char *leat_note_list_take(struct leat_note_list *list) {
    char *text = list->n_texts > 0 ? list->texts[0] : NULL;

    if (text)
        memmove(list->texts, list->texts + 1, --list->n_texts * sizeof(list->texts[0]));
    return text;
}
