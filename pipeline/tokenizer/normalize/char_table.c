/* char_table.c: see char_table.h.
 *
 * Blocks of characters of which the Unicode tables say the same become the same block here; that
 * makes the table small and building it quick. Runs of ASCII do not go through the table at all.
 */
#include "pipeline/tokenizer/normalize/char_table.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/tokenizer/unicode/form.h"
#include "pipeline/tokenizer/unicode/unicode.h"
#include "proto/base/array.h"

#define N_BLOCKS  ((LEAT_UNICODE_MAX + 1) / 128)
#define BYTES_MAX (4 * LEAT_CHAR_MAX)
#define NO_BLOCK  UINT16_MAX
#define POOL_MAX  (1U << 24)

int leat_char_run(leat_char_fn *function, const void *context,
                  struct leat_normalize_step_memory *memory, struct leat_text_view *text) {
    struct leat_writer writer;
    int r = 0;

    leat_writer_begin(&writer, &memory->writer, text);
    for (uint32_t at = 0, n_bytes; at < text->n_bytes && r == 0; at += n_bytes) {
        uint32_t to[LEAT_CHAR_MAX], c = leat_unicode_decode(text->bytes + at, &n_bytes);
        uint32_t n = function(context, c, to);

        if (n == 0)
            r = leat_writer_skip(&writer, n_bytes);
        for (uint32_t i = 0; i < n && r == 0; i++)
            r = leat_writer_put(&writer, to[i], i > 0);
    }
    return r < 0 ? r : leat_writer_end(&writer, text);
}

/* Building. */

struct builder {
    struct leat_char_table *table;
    const struct leat_char_source *source;
    uint16_t kept; /* the block in which all stay */
    size_t entries_capacity, pool_capacity;
};

/* The kind of what a character becomes; 0: characters for the pool. (Only a foreign charsmap, that
 * can do without the table, could overflow that.) */
static uint32_t kind_of(uint32_t c, const uint32_t *to, uint32_t n, size_t n_pool) {
    uint32_t parts[LEAT_UNICODE_DECOMPOSITION_MAX];

    if (n == LEAT_CHAR_DIFFICULT || n_pool > POOL_MAX - BYTES_MAX)
        return LEAT_CHAR_KIND_DIFFICULT;
    if (n == 3 && to[0] == ' ' && to[1] == c && to[2] == ' ')
        return LEAT_CHAR_KIND_SPACED;
    if (leat_unicode_is_hangul(c) && n == leat_unicode_decompose(c, false, parts) &&
        memcmp(parts, to, n * sizeof(*to)) == 0)
        return LEAT_CHAR_KIND_HANGUL;
    return 0;
}

static int make_entry(struct builder *builder, uint32_t c, uint32_t *ret_entry) {
    struct leat_char_table *table = builder->table;
    uint32_t to[LEAT_CHAR_MAX], n = builder->source->function(builder->source->context, c, to),
                                n_bytes = 0;

    *ret_entry = LEAT_CHAR_KIND_KEEP;
    if (n == 1 && to[0] == c)
        return 0;
    *ret_entry = kind_of(c, to, n, table->n_pool);
    if (*ret_entry != 0)
        return 0;
    if (!leat_array_reserve(&table->pool, table->n_pool + BYTES_MAX, &builder->pool_capacity))
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        n_bytes += leat_unicode_encode(to[i], table->pool + table->n_pool + n_bytes);
    *ret_entry = (uint32_t)table->n_pool << 8 | n_bytes;
    table->n_pool += n_bytes;
    return 0;
}

static int make_block(struct builder *builder, uint32_t first) {
    struct leat_char_table *table = builder->table;
    int r = 0;

    if (!leat_array_reserve(&table->entries, table->n_entries + 128, &builder->entries_capacity))
        return -ENOMEM;
    for (uint32_t i = 0; i < 128 && r == 0; i++)
        r = make_entry(builder, first + i, &table->entries[table->n_entries + i]);
    table->n_entries += 128;
    return r;
}

static uint32_t largest(const uint16_t *blocks) {
    uint32_t max = 0;

    for (uint32_t i = 0; i < N_BLOCKS; i++)
        max = blocks[i] > max ? blocks[i] : max;
    return max;
}

static bool is_kept(const struct builder *builder, uint32_t first) {
    const struct leat_char_source *source = builder->source;

    return source->is_kept && builder->kept != NO_BLOCK &&
           source->is_kept(source->context, first) && source->is_kept(source->context, first + 64);
}

static bool keeps_all(const uint32_t *entries) {
    for (uint32_t i = 0; i < 128; i++)
        if (entries[i] != LEAT_CHAR_KIND_KEEP)
            return false;
    return true;
}

/* Makes a block, unless it is as one that is known: *known or the one in which all stay. */
static int make_block_of(struct builder *builder, uint32_t first, uint16_t *known) {
    struct leat_char_table *table = builder->table;
    const uint32_t *made, *old;
    int r = make_block(builder, first);

    if (r < 0)
        return r;
    made = table->entries + table->n_entries - 128;
    old = *known == NO_BLOCK ? NULL : table->entries + *known * (size_t)128;
    if (keeps_all(made) && builder->kept != NO_BLOCK) {
        *known = builder->kept;
        table->n_entries -= 128;
    } else if (old && memcmp(made, old, 128 * sizeof(*made)) == 0) {
        table->n_entries -= 128;
    } else {
        *known = (uint16_t)(table->n_entries / 128 - 1);
        if (keeps_all(made))
            builder->kept = *known;
    }
    return 0;
}

/* known: which block of the table there is for a block of classes and one of forms. */
static int make_blocks(struct builder *builder, uint16_t *known, size_t n_forms) {
    struct leat_char_table *table = builder->table;
    int r = 0;

    for (uint32_t i = 0; i < N_BLOCKS && r == 0; i++) {
        uint16_t *block =
            known + leat_unicode_u16_class_blocks[i] * n_forms + leat_unicode_u16_form_blocks[i];

        if (is_kept(builder, i * 128))
            *block = builder->kept;
        else if (*block == NO_BLOCK || !builder->source->is_by_class)
            r = make_block_of(builder, i * 128, block);
        table->blocks[i] = *block;
    }
    return r;
}

/* Finds the map that does to ASCII what the table does. */
static void find_ascii(struct leat_char_table *table) {
    static const uint8_t blanks[] = {'\t', '\n', '\r'};
    struct leat_ascii_map *map = &table->ascii;

    table->maps_ascii = map->keeps_controls = true;
    for (uint8_t c = 0; c < 0x80; c++) {
        uint32_t entry = table->entries[(uint32_t)table->blocks[0] << 7 | c];
        bool is_small = (entry & 0xff) == 1 && table->pool[entry >> 8] == (c | 0x20);

        if (c < 0x20 || c == 0x7f)
            map->keeps_controls &= entry == LEAT_CHAR_KIND_KEEP;
        else if (c >= 'A' && c <= 'Z' && is_small && (c == 'A' || map->is_lowering))
            map->is_lowering = true;
        else
            table->maps_ascii &=
                entry == LEAT_CHAR_KIND_KEEP && !(c >= 'A' && c <= 'Z' && map->is_lowering);
    }
    for (size_t i = 0; i < sizeof(blanks); i++) {
        uint32_t entry = table->entries[(uint32_t)table->blocks[0] << 7 | blanks[i]];
        bool is_blank = (entry & 0xff) == 1 && table->pool[entry >> 8] == ' ';

        map->blanks[i] = is_blank ? blanks[i] : LEAT_ASCII_NONE;
    }
}

int leat_char_table_init(struct leat_char_table *table, const struct leat_char_source *source) {
    size_t n_forms = largest(leat_unicode_u16_form_blocks) + 1;
    size_t n_known = (largest(leat_unicode_u16_class_blocks) + 1) * n_forms;
    struct builder builder = {.table = table, .source = source, .kept = NO_BLOCK};
    uint16_t *known = malloc(n_known * sizeof(*known));
    int r = -ENOMEM;

    *table = (struct leat_char_table){0};
    table->blocks = malloc(N_BLOCKS * sizeof(*table->blocks));
    if (known && table->blocks) {
        memset(known, 0xff, n_known * sizeof(*known));
        r = make_blocks(&builder, known, n_forms);
    }
    free(known);
    if (r == 0)
        find_ascii(table);
    table->n_bytes = N_BLOCKS * sizeof(*table->blocks) +
                     builder.entries_capacity * sizeof(*table->entries) + builder.pool_capacity;
    return r;
}

void leat_char_table_deinit(struct leat_char_table *table) {
    free(table->blocks);
    free(table->entries);
    free(table->pool);
}

/* Running. */

/* The first place from `at` on where something changes, or the end. */
static uint32_t find_change(const struct leat_char_table *table, const struct leat_text_view *text,
                            uint32_t at) {
    uint32_t n_bytes;

    while (at < text->n_bytes) {
        uint32_t c;

        if (table->maps_ascii && text->bytes[at] < 0x80)
            at = leat_ascii_find_change(&table->ascii, text->bytes, at, text->n_bytes);
        if (at == text->n_bytes)
            break;
        c = leat_unicode_decode(text->bytes + at, &n_bytes);
        if (leat_char_table_entry(table, c) != LEAT_CHAR_KIND_KEEP)
            break;
        at += n_bytes;
    }
    return at;
}

static uint32_t put_hangul(uint32_t c, uint8_t *target) {
    uint32_t to[LEAT_UNICODE_DECOMPOSITION_MAX], n = leat_unicode_decompose(c, false, to);
    uint32_t n_bytes = 0;

    for (uint32_t i = 0; i < n; i++)
        n_bytes += leat_unicode_encode(to[i], target + n_bytes);
    return n_bytes;
}

/* One character that is not plain; there is room for BYTES_MAX. Returns how many bytes it became,
 * or UINT32_MAX: it is difficult. */
static uint32_t put_char(const struct leat_char_table *table, const uint8_t *text,
                         uint32_t *ret_n_source, uint8_t *target) {
    uint32_t c = leat_unicode_decode(text, ret_n_source), entry = leat_char_table_entry(table, c);

    switch (entry & 0xff) {
    case LEAT_CHAR_KIND_KEEP:
        memcpy(target, text, 4);
        return *ret_n_source;
    case LEAT_CHAR_KIND_DIFFICULT:
        return UINT32_MAX;
    case LEAT_CHAR_KIND_SPACED:
        target[0] = ' ';
        memcpy(target + 1, text, 4);
        target[1 + *ret_n_source] = ' ';
        return *ret_n_source + 2;
    case LEAT_CHAR_KIND_HANGUL:
        return put_hangul(c, target);
    default:
        memcpy(target, table->pool + (entry >> 8), entry & 0xff);
        return entry & 0xff;
    }
}

static int rewrite(const struct leat_char_table *table, const struct leat_text_view *text,
                   struct leat_writer *writer) {
    struct leat_text_buffer *target = writer->target;
    uint32_t at = writer->at;

    while (at < text->n_bytes) {
        uint32_t n, n_source;
        int r;

        /* Room for all of the rest if it gets no longer, and for one character that does. */
        r = leat_writer_flush(writer, text->n_bytes - at + BYTES_MAX);
        if (r < 0)
            return r;
        n = n_source = 0;
        if (table->maps_ascii && text->bytes[at] < 0x80)
            n = n_source = leat_ascii_copy(&table->ascii, text->bytes + at, text->n_bytes - at,
                                           target->bytes + target->n_bytes);
        if (n == 0)
            n = put_char(table, text->bytes + at, &n_source, target->bytes + target->n_bytes);
        if (n == UINT32_MAX)
            return 0;
        target->n_bytes += n;
        at += n_source;
    }
    writer->at = writer->kept = at;
    return 1;
}

int leat_char_table_run(const struct leat_char_table *table,
                        struct leat_normalize_step_memory *memory, struct leat_text_view *text) {
    uint32_t at = find_change(table, text, 0);
    struct leat_writer writer;
    int r;

    if (at == text->n_bytes)
        return 1;
    leat_writer_begin(&writer, &memory->writer, text);
    leat_writer_keep(&writer, at);
    r = rewrite(table, text, &writer);
    if (r <= 0)
        return r;
    r = leat_writer_end(&writer, text);
    return r < 0 ? r : 1;
}
