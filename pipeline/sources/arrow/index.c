#include "pipeline/sources/arrow/index.h"

#include <errno.h>
#include <stdlib.h>

#include "proto/base/array.h"

void leat_arrow_index_deinit(struct leat_arrow_index *index) {
    free(index->batches);
    free(index->dictionaries);
    *index = (struct leat_arrow_index){.batches = NULL};
}

size_t leat_arrow_index_memory(const struct leat_arrow_index *index) {
    return index->n_batches * sizeof(*index->batches) +
           index->n_dictionaries * sizeof(*index->dictionaries);
}

static int add_batch(struct leat_arrow_index *index, uint64_t at, uint64_t n_rows,
                     struct leat_error *err) {
    if (!leat_array_reserve(&index->batches, index->n_batches + 1, &index->batches_capacity))
        return leat_error_oom(err);
    if (index->n_batches == LEAT_ARROW_BATCHES_MAX || n_rows > LEAT_ARROW_ROWS_MAX - index->n_rows)
        return leat_error_set(
            err, -EBADMSG,
            "the file has more than %u batches or %d rows: split it into several files",
            LEAT_ARROW_BATCHES_MAX, LEAT_ARROW_ROWS_MAX);
    index->batches[index->n_batches++] = (struct leat_arrow_batch_entry){
        .at = at, .first_row = (uint32_t)index->n_rows, .n_dictionaries = index->n_dictionaries};
    index->n_rows += n_rows;
    return 0;
}

static int add_dictionary(struct leat_arrow_index *index, uint64_t at,
                          const struct leat_arrow_message *message, struct leat_error *err) {
    if (!leat_array_reserve(&index->dictionaries, index->n_dictionaries + 1,
                            &index->dictionaries_capacity))
        return leat_error_oom(err);
    if (index->n_dictionaries == LEAT_ARROW_BATCHES_MAX)
        return leat_error_set(
            err, -EBADMSG,
            "the file has more than %u dictionary batches: write it again with fewer",
            LEAT_ARROW_BATCHES_MAX);
    index->dictionaries[index->n_dictionaries++] = (struct leat_arrow_dictionary_entry){
        .at = at, .id = message->dictionary, .is_delta = message->is_delta};
    return 0;
}

/* ---- messages ---- */

static int add_block(struct leat_arrow_index *index, struct leat_arrow_stream *stream,
                     const struct leat_flat_vector *blocks, uint32_t i,
                     enum leat_arrow_header header, struct leat_error *err) {
    uint64_t at = leat_arrow_footer_block(blocks, i).offset;
    int r = leat_arrow_stream_next_at(stream, at, err);

    if (r == LEAT_ARROW_END || (r == 0 && stream->message.header != header))
        return leat_error_set(
            err, -EBADMSG, "the footer is damaged: it names byte %llu, but no batch begins there",
            (unsigned long long)at);
    if (r != 0)
        return r;
    return header == LEAT_ARROW_RECORD_BATCH
               ? add_batch(index, at, stream->message.batch.n_rows, err)
               : add_dictionary(index, at, &stream->message, err);
}

/* Indexes all dictionaries of a file with a footer. */
static int begin(struct leat_arrow_index *index, struct leat_arrow_stream *stream,
                 struct leat_error *err) {
    int r = 0;

    if (index->is_begun)
        return 0;
    index->at = stream->footer_bytes ? 0 : stream->at;
    index->n_dictionaries = 0;
    for (uint32_t i = 0; r == 0 && stream->footer_bytes && i < stream->footer.dictionaries.n_items;
         i++)
        r = add_block(index, stream, &stream->footer.dictionaries, i, LEAT_ARROW_DICTIONARY_BATCH,
                      err);
    index->is_begun = r == 0;
    return r;
}

static int index_next_block(struct leat_arrow_index *index, struct leat_arrow_stream *stream,
                            struct leat_error *err) {
    int r;

    if (index->at == stream->footer.batches.n_items) {
        index->is_complete = true;
        return 0;
    }
    r = add_block(index, stream, &stream->footer.batches, (uint32_t)index->at,
                  LEAT_ARROW_RECORD_BATCH, err);
    index->at += r == 0;
    return r;
}

/* Indexes the next message of the file. */
static int index_next(struct leat_arrow_index *index, struct leat_arrow_stream *stream,
                      struct leat_error *err) {
    const struct leat_arrow_message *message = &stream->message;
    int r;

    if (stream->footer_bytes)
        return index_next_block(index, stream, err);
    r = leat_arrow_stream_next_at(stream, index->at, err);
    index->is_complete = r == LEAT_ARROW_END;
    if (r != 0)
        return r == LEAT_ARROW_END ? 0 : r;
    if (message->header == LEAT_ARROW_RECORD_BATCH)
        r = add_batch(index, stream->message_at, message->batch.n_rows, err);
    else if (message->header == LEAT_ARROW_DICTIONARY_BATCH)
        r = add_dictionary(index, stream->message_at, message, err);
    if (r == 0)
        index->at = stream->at;
    return r;
}

/* ---- dictionaries ---- */

/* Appends the dictionary batch that is the current message. */
static int put_dictionary(struct leat_arrow_stream *stream,
                          struct leat_arrow_dictionary *dictionary, struct leat_error *err) {
    uint64_t n_bytes = stream->message.body_bytes;
    uint8_t *body;
    int r = 0;

    if (n_bytes > stream->max_memory)
        return leat_error_set(err, -EBADMSG,
                              "the dictionary of column \"%.64s\" is larger than max_window_bytes "
                              "(%llu): raise max_window_bytes",
                              dictionary->field->name, (unsigned long long)stream->max_memory);
    body = malloc((size_t)n_bytes + 1);
    if (!body)
        return leat_error_oom(err);
    if (stream->body)
        memcpy(body, stream->body, (size_t)n_bytes);
    else
        r = leat_input_read_at(stream->file, stream->body_at, body, (size_t)n_bytes, err);
    if (r < 0) {
        free(body);
        return r;
    }
    return leat_arrow_dictionary_put(dictionary, &stream->message.batch, body, n_bytes,
                                     stream->max_memory, err);
}

/* Finds the entries that make up a dictionary: those of its id in [*ret_base, *ret_end). */
static void find_parts(const struct leat_arrow_index *index, uint32_t n, int64_t id,
                       uint32_t *ret_base, uint32_t *ret_end) {
    *ret_base = *ret_end = 0;
    for (uint32_t i = n; i > 0; i--) {
        const struct leat_arrow_dictionary_entry *entry = &index->dictionaries[i - 1];

        if (entry->id != id)
            continue;
        if (*ret_end == 0)
            *ret_end = i;
        *ret_base = i - 1;
        if (!entry->is_delta)
            return;
    }
}

static int sync_one(const struct leat_arrow_index *index, struct leat_arrow_stream *stream,
                    struct leat_arrow_dictionary *dictionary, uint32_t n, struct leat_error *err) {
    uint32_t base, end, i;
    int r = 0;

    find_parts(index, n, dictionary->field->dictionary, &base, &end);
    if (dictionary->n_chunks > 0 && (base != dictionary->base || end < dictionary->last))
        leat_arrow_dictionary_clear(dictionary);
    for (i = dictionary->n_chunks > 0 ? dictionary->last : base; r == 0 && i < end; i++) {
        if (index->dictionaries[i].id != dictionary->field->dictionary)
            continue;
        r = leat_arrow_stream_next_at(stream, index->dictionaries[i].at, err);
        if (r == LEAT_ARROW_END ||
            (r == 0 && stream->message.header != LEAT_ARROW_DICTIONARY_BATCH))
            r = leat_error_set(err, -EBADMSG, "a dictionary has moved: the file was changed");
        if (r == 0)
            r = put_dictionary(stream, dictionary, err);
    }
    if (r < 0)
        leat_arrow_dictionary_clear(dictionary);
    dictionary->base = base;
    dictionary->last = end;
    return r;
}

static int sync_all(const struct leat_arrow_index *index, struct leat_arrow_stream *stream,
                    struct leat_arrow_dictionaries *dictionaries, uint32_t n,
                    struct leat_error *err) {
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < dictionaries->n_items; i++)
        r = sync_one(index, stream, dictionaries->items[i], n, err);
    return r;
}

/* ---- */

static uint32_t find_batch(const struct leat_arrow_index *index, uint64_t row) {
    uint32_t low = 0, high = index->n_batches;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (index->batches[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int find_anywhere(struct leat_arrow_index *index, struct leat_arrow_stream *stream,
                         struct leat_arrow_dictionaries *dictionaries, uint64_t row,
                         uint64_t *ret_first_row, struct leat_error *err) {
    const struct leat_arrow_batch_entry *batch;
    int r = begin(index, stream, err);

    while (r == 0 && index->n_rows <= row && !index->is_complete)
        r = index_next(index, stream, err);
    if (r < 0)
        return r;
    if (index->n_rows <= row)
        return LEAT_ARROW_END;
    batch = &index->batches[find_batch(index, row)];
    *ret_first_row = batch->first_row;
    r = sync_all(index, stream, dictionaries, batch->n_dictionaries, err);
    if (r == 0 &&
        (stream->message_at != batch->at || stream->message.header != LEAT_ARROW_RECORD_BATCH))
        r = leat_arrow_stream_next_at(stream, batch->at, err);
    if (r == LEAT_ARROW_END || (r == 0 && stream->message.header != LEAT_ARROW_RECORD_BATCH))
        return leat_error_set(err, -EBADMSG, "a batch has moved: the file was changed");
    return r;
}

/* Reads from front to back: a batch that was passed is gone, with the dictionaries of its time. */
static int find_next(struct leat_arrow_index *index, struct leat_arrow_stream *stream,
                     struct leat_arrow_dictionaries *dictionaries, uint64_t row,
                     uint64_t *ret_first_row, struct leat_error *err) {
    const struct leat_arrow_message *message = &stream->message;
    struct leat_arrow_dictionary *dictionary;
    int r;

    while ((r = leat_arrow_stream_next(stream, err)) == 0) {
        if (message->header == LEAT_ARROW_DICTIONARY_BATCH) {
            dictionary = leat_arrow_dictionaries_find(dictionaries, message->dictionary);
            if (dictionary && !message->is_delta)
                leat_arrow_dictionary_clear(dictionary);
            r = dictionary ? put_dictionary(stream, dictionary, err) : 0;
            if (r < 0)
                leat_arrow_dictionary_clear(dictionary);
        } else if (message->header == LEAT_ARROW_RECORD_BATCH) {
            *ret_first_row = index->n_rows;
            if (message->batch.n_rows > LEAT_ARROW_ROWS_MAX - index->n_rows)
                return leat_error_set(err, -EBADMSG,
                                      "the file has more than %d rows: split it into several files",
                                      LEAT_ARROW_ROWS_MAX);
            index->n_rows += message->batch.n_rows;
            if (index->n_rows > row)
                return 0;
        }
        if (r < 0)
            return r;
    }
    return r;
}

int leat_arrow_index_find(struct leat_arrow_index *index, struct leat_arrow_stream *stream,
                          struct leat_arrow_dictionaries *dictionaries, uint64_t row,
                          uint64_t *ret_first_row, struct leat_error *err) {
    return stream->can_seek ? find_anywhere(index, stream, dictionaries, row, ret_first_row, err)
                            : find_next(index, stream, dictionaries, row, ret_first_row, err);
}
