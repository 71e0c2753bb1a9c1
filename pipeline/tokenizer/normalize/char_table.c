/* char_table.c: see char_table.h.
 *
 * An entry says what becomes of a character: it stays, it is difficult, it stands between blanks,
 * it is decomposed by arithmetic, or else bytes of the pool take its place: 8 bits of kind and
 * length, 24 of place. Blocks of characters of which the Unicode tables say the same become the
 * same block here; that makes the table small and building it quick.
 */
#include "pipeline/tokenizer/normalize/char_table.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/tokenizer/normalize/ascii.h"
#include "pipeline/tokenizer/unicode/form.h"
#include "pipeline/tokenizer/unicode/unicode.h"

#define N_BLOCKS     ((LEAT_UNICODE_MAX + 1) / 128)
#define BYTES_MAX    (4 * LEAT_CHAR_MAX)
#define NO_BLOCK     UINT16_MAX
#define IS_HANGUL(c) ((c)-0xac00U < 11172)

enum kind {
    KIND_KEEP = 0xff, /* kinds below are lengths in the pool */
    KIND_DIFFICULT = 0xfe,
    KIND_SPACED = 0xfd,
    KIND_HANGUL = 0xfc,
};

int leat_char_run(leat_char_fn *function, uint32_t options, struct leat_step_memory *memory,
                  struct leat_text *text) {
    struct leat_writer writer;
    int r = 0;

    leat_writer_begin(&writer, &memory->writer, text);
    for (uint32_t at = 0, n_bytes; at < text->n_bytes && r == 0; at += n_bytes) {
        uint32_t to[LEAT_CHAR_MAX], c = leat_unicode_decode(text->bytes + at, &n_bytes);
        uint32_t n = function(options, c, to);

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
    leat_char_fn *function;
    uint32_t options;
    bool is_by_class;
    size_t entries_capacity, pool_capacity;
};

static int grow(void *array, size_t item_bytes, size_t need, size_t *capacity) {
    void **items = array, *grown;
    size_t more = *capacity + *capacity / 2 + 4096;

    if (need <= *capacity)
        return 0;
    grown = realloc(*items, (need > more ? need : more) * item_bytes);
    if (!grown)
        return -ENOMEM;
    *items = grown;
    *capacity = need > more ? need : more;
    return 0;
}

static int make_entry(struct builder *builder, uint32_t c, uint32_t *ret_entry) {
    struct leat_char_table *table = builder->table;
    uint32_t to[LEAT_CHAR_MAX], n = builder->function(builder->options, c, to), n_bytes = 0;
    int r;

    *ret_entry = KIND_KEEP;
    if (n == 1 && to[0] == c)
        return 0;
    if (n == LEAT_CHAR_DIFFICULT) {
        *ret_entry = KIND_DIFFICULT;
        return 0;
    }
    if (IS_HANGUL(c) || (n == 3 && to[0] == ' ' && to[1] == c && to[2] == ' ')) {
        *ret_entry = IS_HANGUL(c) ? KIND_HANGUL : KIND_SPACED;
        return 0;
    }
    r = grow(&table->pool, 1, table->n_pool + BYTES_MAX, &builder->pool_capacity);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < n; i++)
        n_bytes += leat_unicode_encode(to[i], table->pool + table->n_pool + n_bytes);
    *ret_entry = (uint32_t)table->n_pool << 8 | n_bytes;
    table->n_pool += n_bytes;
    return 0;
}

static int make_block(struct builder *builder, uint32_t first) {
    struct leat_char_table *table = builder->table;
    int r = grow(&table->entries, sizeof(*table->entries), table->n_entries + 128,
                 &builder->entries_capacity);

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

/* A block that is as one that is known is that one. */
static int make_block_of(struct builder *builder, uint32_t first, uint16_t *known) {
    struct leat_char_table *table = builder->table;
    const uint32_t *made, *old;
    int r = make_block(builder, first);

    if (r < 0)
        return r;
    made = table->entries + table->n_entries - 128;
    old = *known == NO_BLOCK ? NULL : table->entries + *known * (size_t)128;
    if (old && memcmp(made, old, 128 * sizeof(*made)) == 0)
        table->n_entries -= 128;
    else
        *known = (uint16_t)(table->n_entries / 128 - 1);
    return 0;
}

/* known: which block of the table there is for a block of classes and one of forms. */
static int make_blocks(struct builder *builder, uint16_t *known, size_t n_forms) {
    struct leat_char_table *table = builder->table;
    int r = 0;

    for (uint32_t i = 0; i < N_BLOCKS && r == 0; i++) {
        uint16_t *block =
            known + leat_unicode_u16_class_blocks[i] * n_forms + leat_unicode_u16_form_blocks[i];

        if (*block == NO_BLOCK || (!builder->is_by_class && i < 0x10000 / 128))
            r = make_block_of(builder, i * 128, block);
        table->blocks[i] = *block;
    }
    return r;
}

int leat_char_table_init(struct leat_char_table *table, leat_char_fn *function, uint32_t options,
                         bool is_lowering, bool is_by_class) {
    size_t n_forms = largest(leat_unicode_u16_form_blocks) + 1;
    size_t n_known = (largest(leat_unicode_u16_class_blocks) + 1) * n_forms;
    struct builder builder = {
        .table = table, .function = function, .options = options, .is_by_class = is_by_class};
    uint16_t *known = malloc(n_known * sizeof(*known));
    int r = -ENOMEM;

    *table = (struct leat_char_table){.is_lowering = is_lowering};
    table->blocks = malloc(N_BLOCKS * sizeof(*table->blocks));
    if (known && table->blocks) {
        memset(known, 0xff, n_known * sizeof(*known));
        r = make_blocks(&builder, known, n_forms);
    }
    free(known);
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

static uint32_t entry_of(const struct leat_char_table *table, uint32_t c) {
    return table->entries[(uint32_t)table->blocks[c >> 7] << 7 | (c & 127)];
}

/* The first place from `at` on where something changes, or the end. */
static uint32_t find_change(const struct leat_char_table *table, const struct leat_text *text,
                            uint32_t at) {
    uint32_t n_bytes;

    while (at < text->n_bytes) {
        if (leat_ascii_is_plain(text->bytes[at])) {
            at = leat_ascii_find_special(text->bytes, at, text->n_bytes, table->is_lowering);
            if (at == text->n_bytes || leat_ascii_is_plain(text->bytes[at]))
                return at;
        }
        if (entry_of(table, leat_unicode_decode(text->bytes + at, &n_bytes)) != KIND_KEEP)
            return at;
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
    uint32_t c = leat_unicode_decode(text, ret_n_source), entry = entry_of(table, c);

    switch (entry & 0xff) {
    case KIND_KEEP:
        memcpy(target, text, 4);
        return *ret_n_source;
    case KIND_DIFFICULT:
        return UINT32_MAX;
    case KIND_SPACED:
        target[0] = ' ';
        memcpy(target + 1, text, 4);
        target[1 + *ret_n_source] = ' ';
        return *ret_n_source + 2;
    case KIND_HANGUL:
        return put_hangul(c, target);
    default:
        memcpy(target, table->pool + (entry >> 8), entry & 0xff);
        return entry & 0xff;
    }
}

/* Plain characters from `at` on, in lower case if need be; there is room for them. */
static uint32_t put_plain(const struct leat_char_table *table, const struct leat_text *text,
                          uint32_t at, uint8_t *target) {
    uint32_t end;

    if (table->is_lowering)
        return leat_ascii_copy_lower(text->bytes + at, text->n_bytes - at, target);
    end = leat_ascii_find_special(text->bytes, at, text->n_bytes, false);
    memcpy(target, text->bytes + at, end - at);
    return end - at;
}

static int rewrite(const struct leat_char_table *table, const struct leat_text *text,
                   struct leat_text_buffer *target, uint32_t at) {
    while (at < text->n_bytes) {
        uint32_t n, n_source;
        int r;

        /* Room for all of the rest if it gets no longer, and for one character that does. */
        r = leat_text_buffer_reserve(target, text->n_bytes - at + BYTES_MAX, false);
        if (r < 0)
            return r;
        if (leat_ascii_is_plain(text->bytes[at])) {
            n = n_source = put_plain(table, text, at, target->bytes + target->n_bytes);
        } else {
            n = put_char(table, text->bytes + at, &n_source, target->bytes + target->n_bytes);
            if (n == UINT32_MAX)
                return 0;
        }
        target->n_bytes += n;
        at += n_source;
    }
    return 1;
}

int leat_char_table_run(const struct leat_char_table *table, struct leat_step_memory *memory,
                        struct leat_text *text) {
    uint32_t at = find_change(table, text, 0);
    struct leat_writer writer;
    int r;

    if (at == text->n_bytes)
        return 1;
    leat_writer_begin(&writer, &memory->writer, text);
    leat_writer_keep(&writer, at);
    r = leat_writer_flush(&writer, BYTES_MAX);
    if (r == 0)
        r = rewrite(table, text, writer.target, at);
    if (r > 0)
        *text = leat_text_buffer_view(writer.target, false);
    return r;
}
