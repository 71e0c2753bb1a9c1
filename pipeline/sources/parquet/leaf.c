#include "pipeline/sources/parquet/leaf.h"

#include <errno.h>
#include <string.h>

#define HEADER_BYTES  1024U       /* of a page header, at first */
#define HEADER_MAX    (16U << 20) /* statistics may be long */
#define ENTRIES_AHEAD 65536U      /* of rows with lists, at once */
#define TEXT_BYTES    (1U << 20)  /* of values that must be copied, at once */
#define SKIP_ROWS     4096U

enum { REPETITION, DEFINITION };

static int fault(struct leat_error *err, const char *message) {
    return leat_error_set(err, -EBADMSG, "is damaged: %s", message);
}

static bool is_flat(const struct leat_parquet_leaf_reader *reader) {
    return reader->leaf->max_repetition == 0;
}

/* ---- bytes ---- */

/* Gets n bytes of the chunk from `at` on, which are in it. They are valid until the next call. */
static int get(struct leat_parquet_leaf_reader *reader, struct leat_parquet_source *source,
               uint64_t at, size_t n, const uint8_t **ret_bytes, struct leat_error *err) {
    uint64_t n_left = reader->chunk.end - at, n_wanted = n;
    int r = 0;

    if (at < reader->window_at || at + n > reader->window_at + reader->n_window) {
        size_t n_window = reader->has_long_pages ? HEADER_BYTES : source->window_bytes;

        if (n_wanted < n_window)
            n_wanted = n_window < n_left ? n_window : n_left;
        reader->n_window = 0;
        r = leat_parquet_block_reserve(&source->scratch, &reader->window, n_wanted, err);
        if (r == 0)
            r = leat_input_read_at(source->file, at, reader->window->data, (size_t)n_wanted, err);
        reader->window_at = at;
        reader->n_window = r == 0 ? (size_t)n_wanted : 0;
    }
    *ret_bytes = r == 0 ? reader->window->data + (at - reader->window_at) : NULL;
    return r;
}

/* Copies n bytes of the chunk, of which some may be in the window. */
static int copy(struct leat_parquet_leaf_reader *reader, struct leat_parquet_source *source,
                uint64_t at, uint8_t *out, uint64_t n, struct leat_error *err) {
    uint64_t window_end = reader->window_at + reader->n_window;

    if (at >= reader->window_at && at < window_end) {
        uint64_t n_here = n < window_end - at ? n : window_end - at;

        memcpy(out, reader->window->data + (at - reader->window_at), (size_t)n_here);
        at += n_here;
        out += n_here;
        n -= n_here;
    }
    return n > 0 ? leat_input_read_at(source->file, at, out, (size_t)n, err) : 0;
}

/* Reads the header of the page at that place. */
static int read_header(struct leat_parquet_leaf_reader *reader, struct leat_parquet_source *source,
                       uint64_t at, struct leat_parquet_page *ret_page, struct leat_error *err) {
    uint64_t n_left = reader->chunk.end - at, n = HEADER_BYTES;
    const uint8_t *bytes;
    int r;

    if (n_left == 0)
        return fault(err, "it has fewer values than the footer says");
    for (;; n *= 8) {
        n = n < n_left ? n : n_left;
        r = get(reader, source, at, (size_t)n, &bytes, err);
        if (r < 0)
            return r;
        r = leat_parquet_page_parse(bytes, (size_t)n, ret_page);
        if (r != -EAGAIN || n == n_left || n >= HEADER_MAX)
            break;
    }
    if (r < 0)
        return fault(err, "a page has no valid header");
    if (ret_page->n_stored > n_left - ret_page->n_header)
        return fault(err, "a page is longer than its column");
    reader->has_long_pages = ret_page->n_stored >= source->window_bytes;
    return 0;
}

static int check_expansion(const struct leat_parquet_source *source,
                           const struct leat_parquet_page *page, struct leat_error *err) {
    uint64_t ratio = source->limits.max_expansion, limit;

    if (ratio == 0 || __builtin_mul_overflow(page->n_stored, ratio, &limit) ||
        page->n_plain <= limit || page->n_plain - limit <= LEAT_INPUT_EXPANSION_FREE)
        return 0;
    return leat_error_set(err, -EBADMSG,
                          "has a page of %llu bytes that expands to %llu, more than max_expansion "
                          "(%llu) allows: raise max_expansion if you trust the file",
                          (unsigned long long)page->n_stored, (unsigned long long)page->n_plain,
                          (unsigned long long)ratio);
}

/* Decompresses the last n_stored bytes of the page, which begin there in the file. */
static int expand(struct leat_parquet_leaf_reader *reader, struct leat_parquet_source *source,
                  uint64_t at, uint64_t n_stored, uint8_t *out, uint64_t n_plain,
                  struct leat_error *err) {
    enum leat_parquet_codec codec = reader->chunk.codec;
    const uint8_t *stored;
    int r = 0;

    if (n_plain == 0)
        return 0;
    if (at >= reader->window_at && at + n_stored <= reader->window_at + reader->n_window) {
        stored = reader->window->data + (at - reader->window_at);
    } else {
        r = leat_parquet_block_reserve(&source->scratch, &source->stored, n_stored, err);
        if (r == 0)
            r = copy(reader, source, at, source->stored->data, n_stored, err);
        stored = r == 0 ? source->stored->data : NULL;
    }
    if (r < 0)
        return r;
    r = leat_parquet_expand(codec, stored, (size_t)n_stored, out, (size_t)n_plain);
    if (r == -ENOMEM)
        return leat_error_oom(err);
    if (r == -ENOTSUP)
        return leat_error_set(
            err, -EINVAL,
            "is compressed with %s, which leat does not read: write the file with zstd or snappy",
            leat_parquet_codec_name(codec));
    return r < 0 ? leat_error_set(
                       err, -EBADMSG,
                       "is damaged: a page (%s) does not have %llu bytes after decompression",
                       leat_parquet_codec_name(codec), (unsigned long long)n_plain)
                 : 0;
}

/* Bytes at the start of a page that are not compressed: its levels, or all of it. */
static int find_plain(const struct leat_parquet_leaf_reader *reader,
                      const struct leat_parquet_page *page, uint64_t *ret_n,
                      struct leat_error *err) {
    bool is_v2 = page->kind == LEAT_PARQUET_DATA_PAGE_V2;
    bool is_plain = reader->chunk.codec == LEAT_PARQUET_PLAIN || (is_v2 && !page->is_compressed);
    uint64_t n_levels = is_v2 ? page->n_repetition + page->n_definition : 0;

    if (n_levels < (is_v2 ? page->n_definition : 0) || n_levels > page->n_plain ||
        n_levels > page->n_stored || (is_plain && page->n_plain != page->n_stored))
        return fault(err, "the lengths in a page contradict each other");
    *ret_n = is_plain ? page->n_plain : n_levels;
    return 0;
}

/* Reads the page whose header is at that place. NULL: it fails. */
static struct leat_parquet_block *read_page_at(struct leat_parquet_leaf_reader *reader,
                                               struct leat_parquet_source *source, uint64_t at,
                                               const struct leat_parquet_page *page,
                                               struct leat_parquet_memory *memory,
                                               struct leat_error *err) {
    struct leat_parquet_block *block;
    uint64_t n_plain = 0;
    int r = check_expansion(source, page, err);

    if (r == 0)
        r = find_plain(reader, page, &n_plain, err);
    block = r == 0 ? leat_parquet_block_new(memory, page->n_plain, err) : NULL;
    if (!block)
        return NULL;
    block->at = at;
    at += page->n_header;
    r = copy(reader, source, at, block->data, n_plain, err);
    if (r == 0 && n_plain < page->n_plain)
        r = expand(reader, source, at + n_plain, page->n_stored - n_plain, block->data + n_plain,
                   page->n_plain - n_plain, err);
    return r < 0 ? leat_parquet_blocks_free(memory, block) : block;
}

/* The next page, which may have been read ahead. NULL: it fails. */
static struct leat_parquet_block *read_page(struct leat_parquet_leaf_reader *reader,
                                            struct leat_parquet_source *source,
                                            const struct leat_parquet_page *page,
                                            struct leat_error *err) {
    struct leat_parquet_block *block = reader->ahead_pages;

    if (!block || block->at != reader->at)
        return read_page_at(reader, source, reader->at, page, &source->memory, err);
    if (!leat_parquet_block_move(&source->ahead, &source->memory, block, err))
        return NULL;
    reader->ahead_pages = block->next;
    block->next = NULL;
    return block;
}

void leat_parquet_leaf_prepare(struct leat_parquet_leaf_reader *reader,
                               struct leat_parquet_source *source, uint64_t max_bytes) {
    struct leat_parquet_block **end = &reader->ahead_pages;
    uint64_t at = reader->at, n_left = reader->n_left, n_bytes = 0;
    struct leat_error ignored = LEAT_ERROR_INIT;
    struct leat_parquet_page page;

    if (reader->chunk.codec == LEAT_PARQUET_PLAIN && !leat_input_is_object(source->file))
        return;
    while (n_left > 0 && n_bytes < max_bytes) {
        bool is_data;

        if (read_header(reader, source, at, &page, &ignored) < 0)
            return;
        is_data = page.kind == LEAT_PARQUET_DATA_PAGE || page.kind == LEAT_PARQUET_DATA_PAGE_V2;
        if (is_data && page.n_values > n_left)
            return;
        if (is_data || page.kind == LEAT_PARQUET_DICTIONARY_PAGE) {
            *end = read_page_at(reader, source, at, &page, &source->ahead, &ignored);
            if (!*end)
                return;
            end = &(*end)->next;
            n_bytes += page.n_plain;
        }
        n_left -= is_data ? page.n_values : 0;
        at += page.n_header + page.n_stored;
    }
}

/* ---- pages ---- */

static int read_dictionary(struct leat_parquet_leaf_reader *reader,
                           struct leat_parquet_source *source, const struct leat_parquet_page *page,
                           struct leat_error *err) {
    struct leat_parquet_block *block;

    if (reader->dictionary.page)
        return fault(err, "it has more than one dictionary");
    if (page->encoding != LEAT_PARQUET_ENCODING_PLAIN &&
        page->encoding != LEAT_PARQUET_ENCODING_PLAIN_DICTIONARY)
        return fault(err, "its dictionary has an encoding that only data pages may have");
    block = read_page(reader, source, page, err);
    return block
               ? leat_parquet_dictionary_init(&reader->dictionary, reader->leaf,
                                              (uint32_t)page->n_values, block, &source->memory, err)
               : err->code;
}

static uint32_t width_of(uint32_t max_level) {
    uint32_t width = 0;

    while (max_level >> width)
        width++;
    return width;
}

/* Takes levels with their length in front. */
static bool take_levels(const uint8_t **at, const uint8_t *end, uint32_t max_level,
                        struct leat_parquet_runs *runs) {
    uint32_t n;

    if (max_level == 0)
        return true;
    if (end - *at < (ptrdiff_t)sizeof(n))
        return false;
    memcpy(&n, *at, sizeof(n));
    *at += sizeof(n);
    if (n > (size_t)(end - *at))
        return false;
    leat_parquet_runs_init(runs, *at, *at + n, width_of(max_level));
    *at += n;
    return true;
}

static int begin_page_v1(struct leat_parquet_leaf_reader *reader,
                         const struct leat_parquet_page *page, struct leat_error *err) {
    const uint8_t *at = reader->page->data, *end = at + reader->page->n_bytes;
    const struct leat_parquet_leaf *leaf = reader->leaf;

    if ((leaf->max_repetition && page->repetition_encoding != LEAT_PARQUET_ENCODING_RLE) ||
        (leaf->max_definition && page->definition_encoding != LEAT_PARQUET_ENCODING_RLE))
        return leat_error_set(err, -EINVAL,
                              "uses the outdated encoding BIT_PACKED, which leat does not read: "
                              "write the file again");
    if (!take_levels(&at, end, leaf->max_repetition, &reader->repetitions) ||
        !take_levels(&at, end, leaf->max_definition, &reader->definitions))
        return fault(err, "levels are longer than their page");
    return leat_parquet_values_begin(&reader->values, page->encoding, at, end, page->n_values, err);
}

static int begin_page_v2(struct leat_parquet_leaf_reader *reader,
                         const struct leat_parquet_page *page, struct leat_error *err) {
    const uint8_t *at = reader->page->data, *end = at + reader->page->n_bytes;
    const struct leat_parquet_leaf *leaf = reader->leaf;

    leat_parquet_runs_init(&reader->repetitions, at, at + page->n_repetition,
                           width_of(leaf->max_repetition));
    at += page->n_repetition;
    leat_parquet_runs_init(&reader->definitions, at, at + page->n_definition,
                           width_of(leaf->max_definition));
    at += page->n_definition;
    return leat_parquet_values_begin(&reader->values, page->encoding, at, end, page->n_values, err);
}

static int enter_page(struct leat_parquet_leaf_reader *reader, struct leat_parquet_source *source,
                      const struct leat_parquet_page *page, struct leat_error *err) {
    bool is_v2 = page->kind == LEAT_PARQUET_DATA_PAGE_V2;
    int r;

    reader->page = read_page(reader, source, page, err);
    if (!reader->page)
        return err->code;
    reader->values.leaf = reader->leaf;
    reader->values.dictionary = &reader->dictionary;
    r = is_v2 ? begin_page_v2(reader, page, err) : begin_page_v1(reader, page, err);
    reader->n_page = r == 0 ? page->n_values : 0;
    return r;
}

/* Enters the next page of data; *n_skip: rows of which whole pages may be passed, less those that
 * were. Only without lists is a value a row. Nothing is entered behind the last value. */
static int next_page(struct leat_parquet_leaf_reader *reader, struct leat_parquet_source *source,
                     uint64_t *n_skip, struct leat_error *err) {
    if (reader->page) {
        reader->page->next = reader->kept;
        reader->kept = reader->page;
        reader->page = NULL;
    }
    reader->ahead_at = reader->n_ahead = 0;
    while (reader->n_left > 0) {
        struct leat_parquet_page page;
        int r = read_header(reader, source, reader->at, &page, err);
        bool is_data =
            page.kind == LEAT_PARQUET_DATA_PAGE || page.kind == LEAT_PARQUET_DATA_PAGE_V2;

        if (r < 0)
            return r;
        if (is_data && page.n_values > reader->n_left)
            return fault(err, "its pages have more values than the footer says");
        if (page.kind == LEAT_PARQUET_DICTIONARY_PAGE)
            r = read_dictionary(reader, source, &page, err);
        if (is_data && is_flat(reader) && page.n_values <= *n_skip) {
            *n_skip -= page.n_values;
            reader->n_left -= page.n_values;
            is_data = false;
        } else if (is_data) {
            r = enter_page(reader, source, &page, err);
        }
        if (r < 0)
            return r;
        reader->at += page.n_header + page.n_stored;
        if (is_data) {
            reader->n_left -= page.n_values;
            return 0;
        }
    }
    return 0;
}

/* ---- rows ---- */

static void release(struct leat_parquet_leaf_reader *reader, struct leat_parquet_source *source) {
    reader->kept = leat_parquet_blocks_free(&source->memory, reader->kept);
    reader->n_rows = reader->n_entries = reader->n_values = 0;
}

void leat_parquet_leaf_enter(struct leat_parquet_leaf_reader *reader,
                             struct leat_parquet_source *source,
                             const struct leat_parquet_chunk *chunk) {
    release(reader, source);
    leat_parquet_dictionary_deinit(&reader->dictionary, &source->memory);
    reader->page = leat_parquet_blocks_free(&source->memory, reader->page);
    reader->ahead_pages = leat_parquet_blocks_free(&source->ahead, reader->ahead_pages);
    for (int i = REPETITION; i <= DEFINITION; i++)
        reader->levels[i] = leat_parquet_blocks_free(&source->memory, reader->levels[i]);
    reader->out = leat_parquet_blocks_free(&source->memory, reader->out);
    leat_parquet_values_deinit(&reader->values, &source->memory);
    reader->chunk = *chunk;
    reader->at = chunk->at;
    reader->n_left = chunk->n_values;
    reader->n_page = 0;
    reader->ahead_at = reader->n_ahead = 0;
    reader->n_window = 0;
    reader->has_long_pages = false;
}

void leat_parquet_leaf_deinit(struct leat_parquet_leaf_reader *reader,
                              struct leat_parquet_source *source) {
    static const struct leat_parquet_chunk none = {.at = 0};

    leat_parquet_leaf_enter(reader, source, &none);
    (void)leat_parquet_blocks_free(&source->scratch, reader->window);
}

/* Appends n definition levels, and counts those of values that are there. */
static int take_definitions(struct leat_parquet_leaf_reader *reader,
                            struct leat_parquet_source *source, uint32_t n, uint32_t *ret_values,
                            struct leat_error *err) {
    uint32_t max = reader->leaf->max_definition, levels[256];
    uint8_t *out;
    int r;

    *ret_values = n;
    r = leat_parquet_block_reserve(&source->memory, &reader->levels[DEFINITION],
                                   (uint64_t)reader->n_entries + n, err);
    if (r < 0)
        return r;
    out = reader->levels[DEFINITION]->data + reader->n_entries;
    if (max == 0 || leat_parquet_runs_pass(&reader->definitions, max, n)) {
        memset(out, (int)max, n);
        return 0;
    }
    *ret_values = 0;
    for (uint32_t i = 0; i < n;) {
        uint32_t n_here = n - i < 256 ? n - i : 256;

        if (!leat_parquet_runs_read(&reader->definitions, levels, n_here))
            return fault(err, "a page has fewer definition levels than values");
        for (uint32_t k = 0; k < n_here; k++, i++) {
            if (levels[k] > max)
                return fault(err, "a definition level is too large");
            out[i] = (uint8_t)levels[k];
            *ret_values += levels[k] == max;
        }
    }
    return 0;
}

/* Loads n entries of the page, whose repetition levels were taken. */
static int take_entries(struct leat_parquet_leaf_reader *reader, struct leat_parquet_source *source,
                        uint32_t n, struct leat_error *err) {
    size_t size = leat_parquet_value_size(reader->leaf);
    uint32_t n_values;
    int r = take_definitions(reader, source, n, &n_values, err);

    if (r == 0)
        r = leat_parquet_block_reserve(&source->memory, &reader->out,
                                       ((uint64_t)reader->n_values + n_values) * size, err);
    if (r == 0)
        r = leat_parquet_values_read(&reader->values,
                                     reader->out->data + (size_t)reader->n_values * size, n_values,
                                     &source->memory, &reader->kept, err);
    reader->n_entries += n;
    reader->n_values += n_values;
    reader->n_page -= n;
    return r;
}

static int load_flat(struct leat_parquet_leaf_reader *reader, struct leat_parquet_source *source,
                     uint32_t n_rows, bool exactly, struct leat_error *err) {
    uint64_t none = 0, n;
    int r = 0;

    do {
        while (r == 0 && reader->n_page == 0) {
            if (reader->n_left == 0)
                return fault(err, "it has fewer rows than its row group");
            if (reader->n_rows == 0)
                reader->page = leat_parquet_blocks_free(&source->memory, reader->page);
            r = next_page(reader, source, &none, err);
        }
        if (r < 0)
            return r;
        n = exactly ? n_rows : TEXT_BYTES / (reader->values.n_bytes_each + 1) + 1;
        n = n < reader->n_page ? n : reader->n_page;
        n = n < n_rows - reader->n_rows ? n : n_rows - reader->n_rows;
        reader->n_rows += (uint32_t)n;
        r = take_entries(reader, source, (uint32_t)n, err);
    } while (r == 0 && exactly && reader->n_rows < n_rows);
    return r;
}

static int read_ahead(struct leat_parquet_leaf_reader *reader, struct leat_error *err) {
    size_t n = reader->n_page < 256 ? (size_t)reader->n_page : 256;

    if (reader->ahead_at < reader->n_ahead)
        return 0;
    reader->ahead_at = 0;
    reader->n_ahead = n;
    return leat_parquet_runs_read(&reader->repetitions, reader->ahead, n)
               ? 0
               : fault(err, "a page has fewer repetition levels than values");
}

/* Counts the levels that were read ahead and belong to the next rows, up to n_rows in all. *is_done
 * is set if a row begins behind them that does not. */
static int count_entries(struct leat_parquet_leaf_reader *reader, uint32_t n_rows, bool exactly,
                         uint32_t *ret_n, bool *is_done, struct leat_error *err) {
    uint32_t n = 0;

    for (size_t i = reader->ahead_at; i < reader->n_ahead; i++, n++) {
        if (reader->ahead[i] > reader->leaf->max_repetition)
            return fault(err, "a repetition level is too large");
        if (reader->ahead[i] > 0 && reader->n_rows == 0)
            return fault(err, "it does not begin at the start of a row");
        if (reader->ahead[i] > 0)
            continue;
        if (reader->n_rows == n_rows ||
            (!exactly && reader->n_rows > 0 && reader->n_entries + n > ENTRIES_AHEAD)) {
            *is_done = true;
            break;
        }
        reader->n_rows++;
    }
    *ret_n = n;
    return 0;
}

static int take_repetitions(struct leat_parquet_leaf_reader *reader,
                            struct leat_parquet_source *source, uint32_t n,
                            struct leat_error *err) {
    int r = leat_parquet_block_reserve(&source->memory, &reader->levels[REPETITION],
                                       (uint64_t)reader->n_entries + n, err);

    for (uint32_t i = 0; r == 0 && i < n; i++)
        reader->levels[REPETITION]->data[reader->n_entries + i] =
            (uint8_t)reader->ahead[reader->ahead_at++];
    return r;
}

static int load_nested(struct leat_parquet_leaf_reader *reader, struct leat_parquet_source *source,
                       uint32_t n_rows, bool exactly, struct leat_error *err) {
    bool is_done = false;
    uint64_t none = 0;
    uint32_t n;
    int r = 0;

    while (r == 0 && !is_done) {
        if (reader->n_page == 0 && reader->n_left == 0)
            break;
        if (reader->n_page == 0) {
            r = next_page(reader, source, &none, err);
            continue;
        }
        n = 0;
        r = read_ahead(reader, err);
        if (r == 0)
            r = count_entries(reader, n_rows, exactly, &n, &is_done, err);
        if (r == 0 && n > UINT32_MAX / 2 - reader->n_entries)
            r = fault(err, "a row has too many items");
        if (r == 0)
            r = take_repetitions(reader, source, n, err);
        if (r == 0)
            r = take_entries(reader, source, n, err);
    }
    if (r == 0 && (reader->n_rows == 0 || (exactly && reader->n_rows < n_rows)))
        r = fault(err, "it has fewer rows than its row group");
    return r;
}

int leat_parquet_leaf_load(struct leat_parquet_leaf_reader *reader,
                           struct leat_parquet_source *source, uint32_t n_rows, bool exactly,
                           struct leat_error *err) {
    release(reader, source);
    return is_flat(reader) ? load_flat(reader, source, n_rows, exactly, err)
                           : load_nested(reader, source, n_rows, exactly, err);
}

int leat_parquet_leaf_skip(struct leat_parquet_leaf_reader *reader,
                           struct leat_parquet_source *source, uint64_t n_rows,
                           struct leat_error *err) {
    int r = 0;

    while (r == 0 && n_rows > 0) {
        if (reader->n_page == 0) {
            release(reader, source);
            reader->page = leat_parquet_blocks_free(&source->memory, reader->page);
            r = next_page(reader, source, &n_rows, err);
            if (r == 0 && reader->n_page == 0 && reader->n_left == 0 && n_rows > 0)
                r = fault(err, "it has fewer rows than its row group");
            continue;
        }
        r = leat_parquet_leaf_load(reader, source,
                                   n_rows < SKIP_ROWS ? (uint32_t)n_rows : SKIP_ROWS, false, err);
        n_rows -= r == 0 ? reader->n_rows : 0;
    }
    return r;
}
