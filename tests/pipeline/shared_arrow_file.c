/* shared_arrow_file.c: see shared_arrow_file.h. A flatbuffer is written from front to back: a table
 * stands behind its vtable, and what it refers to behind both. */
#include "tests/pipeline/shared_arrow_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 8

struct field {
    uint8_t size; /* 0: not there */
    uint64_t value;
    size_t at; /* out */
};

struct flatbuffer {
    uint8_t data[4096];
    size_t n_bytes;
};

static void put(struct arrow_file *file, const void *data, size_t n) {
    if (file->bytes.n_bytes + n > file->bytes.capacity) {
        file->bytes.capacity = 2 * (file->bytes.n_bytes + n);
        file->bytes.data = realloc(file->bytes.data, file->bytes.capacity);
        assert(file->bytes.data);
    }
    if (n > 0)
        memcpy(file->bytes.data + file->bytes.n_bytes, data, n);
    file->bytes.n_bytes += n;
}

static void align(struct arrow_file *file) {
    static const uint8_t zeros[8] = {0};

    put(file, zeros, -file->bytes.n_bytes & 7);
}

/* ---- flatbuffers ---- */

static size_t append(struct flatbuffer *buffer, const void *data, size_t n, size_t alignment) {
    size_t at = (buffer->n_bytes + alignment - 1) / alignment * alignment;

    assert(at + n <= sizeof(buffer->data));
    if (data && n > 0)
        memcpy(buffer->data + at, data, n);
    buffer->n_bytes = at + n;
    return at;
}

static void refer(struct flatbuffer *buffer, size_t from, size_t to) {
    uint32_t distance = (uint32_t)(to - from);

    memcpy(buffer->data + from, &distance, sizeof(distance));
}

static size_t put_table(struct flatbuffer *buffer, struct field *fields, size_t n_fields) {
    uint16_t vtable[2 + FIELDS_MAX] = {(uint16_t)(4 + 2 * n_fields), 4};
    size_t vtable_at, at;
    int32_t distance;

    for (size_t i = 0; i < n_fields; i++) {
        if (fields[i].size == 0)
            continue;
        vtable[1] = (uint16_t)((vtable[1] + fields[i].size - 1) / fields[i].size * fields[i].size);
        vtable[2 + i] = vtable[1];
        vtable[1] = (uint16_t)(vtable[1] + fields[i].size);
    }
    vtable_at = append(buffer, vtable, 4 + 2 * n_fields, 2);
    at = append(buffer, NULL, vtable[1], 8);
    memset(buffer->data + at, 0, vtable[1]);
    distance = (int32_t)(at - vtable_at);
    memcpy(buffer->data + at, &distance, sizeof(distance));
    for (size_t i = 0; i < n_fields; i++) {
        fields[i].at = at + vtable[2 + i];
        memcpy(buffer->data + fields[i].at, &fields[i].value, fields[i].size);
    }
    return at;
}

/* The items themselves are put behind: where the first is. */
static size_t put_vector(struct flatbuffer *buffer, uint32_t n_items, const void *items,
                         size_t n_bytes) {
    size_t at;

    while ((buffer->n_bytes + 4) % 8 != 0)
        buffer->n_bytes++;
    at = append(buffer, &n_items, sizeof(n_items), 4);
    (void)append(buffer, items, n_bytes, 1);
    return at;
}

/* ---- messages ---- */

static void put_message(struct arrow_file *file, struct flatbuffer *buffer) {
    uint32_t head[2] = {UINT32_MAX, (uint32_t)((buffer->n_bytes + 7) / 8 * 8)};

    memset(buffer->data + buffer->n_bytes, 0, head[1] - buffer->n_bytes);
    put(file, head, sizeof(head));
    put(file, buffer->data, head[1]);
}

static size_t begin_message(struct flatbuffer *buffer, uint64_t header, uint64_t n_body) {
    struct field message[] = {{2, 4, 0}, {1, header, 0}, {4, 0, 0}, {8, n_body, 0}};

    *buffer = (struct flatbuffer){.n_bytes = 4};
    refer(buffer, 0, put_table(buffer, message, 4));
    return message[2].at;
}

static void put_field(struct flatbuffer *buffer, size_t from, const struct arrow_field *made);

static void put_fields(struct flatbuffer *buffer, size_t from, const struct arrow_field *fields,
                       uint32_t n_fields) {
    uint32_t zeros[FIELDS_MAX] = {0};
    size_t at = put_vector(buffer, n_fields, zeros, 4 * n_fields);

    refer(buffer, from, at);
    for (uint32_t i = 0; i < n_fields; i++)
        put_field(buffer, at + 4 + 4 * (size_t)i, &fields[i]);
}

static void put_field(struct flatbuffer *buffer, size_t from, const struct arrow_field *made) {
    struct field field[] = {{4, 0, 0}, {1, 1, 0}, {1, (uint64_t)made->type, 0},
                            {4, 0, 0}, {0, 0, 0}, {4, 0, 0}};
    struct field type[] = {{4, (uint32_t)made->width, 0}, {1, 1, 0}};

    refer(buffer, from, put_table(buffer, field, 6));
    refer(buffer, field[0].at,
          put_vector(buffer, (uint32_t)strlen(made->name), made->name, strlen(made->name) + 1));
    refer(buffer, field[3].at, put_table(buffer, type, 2));
    put_fields(buffer, field[5].at, made->children, made->n_children);
}

struct arrow_file *arrow_file_new(const struct arrow_field *fields, uint32_t n_fields) {
    struct arrow_file *file = calloc(1, sizeof(*file));
    struct field schema[] = {{2, 0, 0}, {4, 0, 0}};
    struct flatbuffer buffer;
    size_t header = begin_message(&buffer, 1, 0);

    assert(file);
    refer(&buffer, header, put_table(&buffer, schema, 2));
    put_fields(&buffer, schema[1].at, fields, n_fields);
    put_message(file, &buffer);
    return file;
}

void arrow_file_batch(struct arrow_file *file, int64_t n_rows, const int64_t *nodes,
                      uint32_t n_nodes, const struct arrow_buffer *buffers, size_t n_buffers) {
    struct field batch[] = {{8, (uint64_t)n_rows, 0}, {4, 0, 0}, {4, 0, 0}};
    int64_t places[2 * FIELDS_MAX], n_body = 0;
    struct flatbuffer buffer;
    size_t header;

    for (size_t i = 0; i < n_buffers; i++) {
        places[2 * i] = n_body;
        places[2 * i + 1] = (int64_t)buffers[i].n_bytes;
        n_body += (int64_t)((buffers[i].n_bytes + 7) / 8 * 8);
    }
    header = begin_message(&buffer, 3, (uint64_t)n_body);
    refer(&buffer, header, put_table(&buffer, batch, 3));
    refer(&buffer, batch[1].at, put_vector(&buffer, n_nodes, nodes, 16 * (size_t)n_nodes));
    refer(&buffer, batch[2].at, put_vector(&buffer, (uint32_t)n_buffers, places, 16 * n_buffers));
    put_message(file, &buffer);
    for (size_t i = 0; i < n_buffers; i++) {
        put(file, buffers[i].data, buffers[i].n_bytes);
        align(file);
    }
}

void arrow_file_end(struct arrow_file *file) {
    static const uint32_t end[2] = {UINT32_MAX, 0};

    put(file, end, sizeof(end));
}

struct arrow_file *arrow_file_free(struct arrow_file *file) {
    free(file->bytes.data);
    free(file);
    return NULL;
}

/* ---- */

static void put_texts(struct arrow_file *file, uint32_t first, uint32_t n, uint32_t n_bytes) {
    int32_t *numbers = calloc(n + 1, sizeof(*numbers)), *ends = calloc(n + 1, sizeof(*ends));
    char *text = malloc((size_t)n * 2 * n_bytes + 1);
    int64_t nodes[] = {n, 0, n, 0};

    assert(numbers && ends && text);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t length = (first + i) * 7 % (2 * n_bytes);

        numbers[i] = (int32_t)(first + i);
        memset(text + ends[i], 'a' + (int)((first + i) % 26), length);
        ends[i + 1] = ends[i] + (int32_t)length;
    }
    arrow_file_batch(file, n, nodes, 2,
                     (struct arrow_buffer[]){{NULL, 0},
                                             {numbers, 4 * (size_t)n},
                                             {NULL, 0},
                                             {ends, 4 * ((size_t)n + 1)},
                                             {text, (size_t)ends[n]}},
                     5);
    free(numbers);
    free(ends);
    free(text);
}

struct arrow_file *arrow_file_of_texts(uint32_t n_rows, uint32_t n_batches, uint32_t n_bytes) {
    static const struct arrow_field fields[] = {{"n", ARROW_INT, 32, NULL, 0},
                                                {"t", ARROW_UTF8, 0, NULL, 0}};
    struct arrow_file *file = arrow_file_new(fields, 2);

    for (uint32_t i = 0; i < n_batches; i++) {
        uint32_t first = (uint32_t)((uint64_t)n_rows * i / n_batches);
        uint32_t end = (uint32_t)((uint64_t)n_rows * (i + 1) / n_batches);

        put_texts(file, first, end - first, n_bytes);
    }
    arrow_file_end(file);
    return file;
}
