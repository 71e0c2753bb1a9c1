#include "pipeline/work/unit.h"

#include <stdlib.h>

int leat_unit_compare(struct leat_unit_key a, struct leat_unit_key b) {
    if (a.file != b.file)
        return a.file < b.file ? -1 : 1;
    return (a.range > b.range) - (a.range < b.range);
}

void leat_unit_insert(struct leat_unit **list, struct leat_unit *unit) {
    while (*list && leat_unit_compare((*list)->key, unit->key) < 0)
        list = &(*list)->next;
    unit->next = *list;
    *list = unit;
}

struct leat_unit *leat_unit_free(struct leat_unit *unit) {
    if (unit)
        leat_input_close(unit->input);
    free(unit);
    return NULL;
}

void leat_unit_free_all(struct leat_unit **list) {
    while (*list) {
        struct leat_unit *unit = *list;

        *list = unit->next;
        leat_unit_free(unit);
    }
}
