/* layout.c: see layout.h. In the header a column is: cell, number, the lengths of name and type
 * (uint32 each), name, type. */
#include "pipeline/sources/arrow/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_HEAD 10

void leat_arrow_layout_arrange(struct leat_arrow_layout *layout) {
    uint32_t at = (layout->n_slots + 7) / 8;

    for (uint32_t i = 0; i < layout->n_slots; i++) {
        struct leat_arrow_slot *slot = &layout->slots[i];

        if (slot->cell != LEAT_ARROW_CELL_NUMBER)
            continue;
        slot->at = at;
        at += (uint32_t)leat_arrow_number_size(slot->number);
    }
    for (uint32_t i = 0; i < layout->n_slots; i++) {
        if (!leat_arrow_slot_is_variable(&layout->slots[i]))
            continue;
        layout->slots[i].at = at;
        at += (uint32_t)sizeof(uint32_t);
    }
    layout->n_fixed = at;
}

void leat_arrow_layout_deinit(struct leat_arrow_layout *layout) {
    free(layout->slots);
    free(layout->texts);
    *layout = (struct leat_arrow_layout){.slots = NULL};
}

size_t leat_arrow_layout_max_bytes(const struct leat_arrow_layout *layout) {
    size_t n = 0;

    for (uint32_t i = 0; i < layout->n_slots; i++)
        n += SLOT_HEAD + strlen(layout->slots[i].name) + strlen(layout->slots[i].type);
    return n;
}

static uint8_t *put(uint8_t *out, const void *bytes, size_t n) {
    return (uint8_t *)memcpy(out, bytes, n) + n;
}

size_t leat_arrow_layout_write(const struct leat_arrow_layout *layout, uint8_t *out) {
    uint8_t *start = out;

    for (uint32_t i = 0; i < layout->n_slots; i++) {
        const struct leat_arrow_slot *slot = &layout->slots[i];
        uint32_t n_name = (uint32_t)strlen(slot->name), n_type = (uint32_t)strlen(slot->type);

        *out++ = (uint8_t)slot->cell;
        *out++ = (uint8_t)slot->number;
        out = put(out, &n_name, sizeof(n_name));
        out = put(out, &n_type, sizeof(n_type));
        out = put(out, slot->name, n_name);
        out = put(out, slot->type, n_type);
    }
    return (size_t)(out - start);
}

/* Reads one column and copies its texts to *texts. Returns the bytes that it has; 0: it is damaged.
 */
static size_t read_slot(const uint8_t *bytes, size_t n_bytes, struct leat_arrow_slot *slot,
                        char **texts) {
    uint32_t lengths[2];
    size_t n = SLOT_HEAD;

    if (n_bytes < n || bytes[0] > LEAT_ARROW_CELL_JSON || bytes[1] >= LEAT_ARROW_N_NUMBERS)
        return 0;
    *slot = (struct leat_arrow_slot){.cell = bytes[0], .number = bytes[1]};
    memcpy(lengths, bytes + 2, sizeof(lengths));
    for (int i = 0; i < 2; i++) {
        if (lengths[i] > n_bytes - n || memchr(bytes + n, '\0', lengths[i]))
            return 0;
        *(i == 0 ? &slot->name : &slot->type) = *texts;
        *texts = (char *)put((uint8_t *)*texts, bytes + n, lengths[i]);
        *(*texts)++ = '\0';
        n += lengths[i];
    }
    return n;
}

int leat_arrow_layout_read(const uint8_t *bytes, size_t n_bytes,
                           struct leat_arrow_layout *ret_layout) {
    size_t n_max =
        n_bytes / SLOT_HEAD < LEAT_ARROW_COLUMNS_MAX ? n_bytes / SLOT_HEAD : LEAT_ARROW_COLUMNS_MAX;
    char *texts = malloc(n_bytes + 1);
    size_t n = 0;

    *ret_layout = (struct leat_arrow_layout){.slots = calloc(n_max + 1, sizeof(*ret_layout->slots)),
                                             .texts = texts};
    if (!texts || !ret_layout->slots) {
        leat_arrow_layout_deinit(ret_layout);
        return -ENOMEM;
    }
    while (n_bytes > 0 && ret_layout->n_slots < n_max) {
        n = read_slot(bytes, n_bytes, &ret_layout->slots[ret_layout->n_slots], &texts);
        if (n == 0)
            break;
        ret_layout->n_slots++;
        bytes += n;
        n_bytes -= n;
    }
    if (n_bytes > 0) {
        leat_arrow_layout_deinit(ret_layout);
        return -EBADMSG;
    }
    leat_arrow_layout_arrange(ret_layout);
    return 0;
}
