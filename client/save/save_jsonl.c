/* save_jsonl.c: a batch as JSONL: a line for each row, an object with its place and its values.
 *
 *     {"_epoch": 0, "_step": 17, "_row": 3, "input_ids": [101, 7592], "labels": 1}
 *
 * A tensor whose first dimension is not the number of rows (`cu_seqlens`) is written whole, in the
 * line of row 0. A stream without `batch` has one record a batch, whose tensors have no rows and
 * are written whole. Floats have the fewest digits that read back equal; infinities and NaN are
 * null.
 */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/save/save.h"
#include "proto/base/scalar.h"
#include "proto/base/text.h"

#define MAX_NUMBER 48
#define MAX_PLACES 3
#define WHOLE      1e15 /* below, a whole number is written without an exponent */
#define MAX_EMPTY                                                                                  \
    (1 << 16) /* rows and lists without bytes, which the size of the batch does not bound */

struct line {
    struct leat_saved_file *file;
    const struct leat_view *view;
    bool has_rows; /* false: the batch is one record */
    bool has_members;
    struct leat_text name; /* the last one, with its separators */
};

/* ---- numbers ---- */

static void print_float(double value, bool is_double, char ret_text[MAX_NUMBER]) {
    int digits = is_double ? 15 : 6, most = is_double ? 17 : 9;
    bool is_equal = false;

    if (!isfinite(value)) {
        memcpy(ret_text, "null", sizeof("null"));
        return;
    }
    if (value == trunc(value) && fabs(value) < WHOLE) {
        (void)snprintf(ret_text, MAX_NUMBER, "%.1f", value);
        return;
    }
    for (; digits <= most && !is_equal; digits++) {
        (void)snprintf(ret_text, MAX_NUMBER, "%.*g", digits, value);
        is_equal =
            is_double ? strtod(ret_text, NULL) == value : (double)strtof(ret_text, NULL) == value;
    }
}

static void print_int(int64_t value, char ret_text[MAX_NUMBER]) {
    char digits[MAX_NUMBER], *at = digits + sizeof(digits);
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;

    *--at = '\0';
    do
        *--at = (char)('0' + magnitude % 10);
    while ((magnitude /= 10) > 0);
    if (value < 0)
        *--at = '-';
    memcpy(ret_text, at, (size_t)(digits + sizeof(digits) - at));
}

static void print_value(const struct leat_tensor *tensor, uint64_t index,
                        char ret_text[MAX_NUMBER]) {
    enum leat_dtype dtype = (enum leat_dtype)tensor->dtype;

    if (dtype == LEAT_DTYPE_BOOL)
        (void)snprintf(ret_text, MAX_NUMBER, "%s",
                       ((const uint8_t *)tensor->data)[index] ? "true" : "false");
    else if (leat_dtype_is_integer(dtype))
        print_int(leat_scalar_int(tensor->data, dtype, index), ret_text);
    else
        print_float(leat_scalar_double(tensor->data, dtype, index), dtype == LEAT_DTYPE_FLOAT64,
                    ret_text);
}

/* ---- lines ---- */

/* Writes the n_elements from `first` on as nested lists, one level for each dimension from
 * `dimension` on. */
static void write_values(struct line *line, const struct leat_tensor *tensor, uint32_t dimension,
                         uint64_t first, uint64_t n_elements) {
    char number[MAX_NUMBER];
    uint64_t n;

    if (dimension >= tensor->ndim || dimension >= LEAT_MAX_NDIM) {
        print_value(tensor, first, number);
        leat_saved_file_text(line->file, number);
        return;
    }
    n = tensor->shape[dimension];
    leat_saved_file_text(line->file, "[");
    for (uint64_t i = 0; i < n; i++) {
        if (i > 0)
            leat_saved_file_text(line->file, ", ");
        write_values(line, tensor, dimension + 1, first + i * (n_elements / n), n_elements / n);
    }
    leat_saved_file_text(line->file, "]");
}

static void write_name(struct line *line, const char *name) {
    struct leat_text *text = &line->name;

    text->n_bytes = 0;
    leat_text_add_bytes(text, line->has_members ? ", " : "{", line->has_members ? 2 : 1);
    leat_text_add_json(text, name, strlen(name));
    leat_text_add_bytes(text, ": ", 2);
    leat_saved_file_write(line->file, text->data, text->n_bytes);
    line->has_members = true;
}

/* A tensor of that name takes precedence. */
static void write_place(struct line *line, const char *name, uint64_t value) {
    char number[MAX_NUMBER];

    if (leat_view_find(line->view, name))
        return;
    write_name(line, name);
    (void)snprintf(number, sizeof(number), "%" PRIu64, value);
    leat_saved_file_text(line->file, number);
}

static void write_tensor(struct line *line, const struct leat_tensor *tensor, uint64_t row) {
    uint64_t n_rows = line->view->header.n_rows;
    uint64_t n = tensor->size_bytes / leat_dtype_size((enum leat_dtype)tensor->dtype);
    bool is_by_row = line->has_rows && tensor->ndim > 0 && tensor->shape[0] == n_rows;

    if (!is_by_row && row > 0)
        return;
    write_name(line, tensor->name);
    if (is_by_row)
        write_values(line, tensor, 1, row * (n / n_rows), n / n_rows);
    else
        write_values(line, tensor, 0, 0, n);
}

static void write_row(struct line *line, uint64_t row) {
    const struct leat_slot_header *header = &line->view->header;

    line->has_members = false;
    write_place(line, "_epoch", header->epoch);
    write_place(line, "_step", header->step);
    if (line->has_rows)
        write_place(line, "_row", row);
    for (size_t i = 0; i < header->n_tensors; i++)
        write_tensor(line, &line->view->tensors[i], row);
    leat_saved_file_text(line->file, line->has_members ? "}\n" : "{}\n");
}

/* A batch is taken for a record if its stream has batches of one row and no tensor has a dimension
 * besides that of rows. */
static bool has_rows(const struct leat_saving *saving) {
    bool is_flat = true;

    for (size_t i = 0; i < saving->view->header.n_tensors; i++)
        is_flat = is_flat && saving->view->tensors[i].ndim < 2;
    return !is_flat || saving->batch_size != 1 || saving->view->header.n_rows != 1;
}

/* The number of lists in a tensor without elements: of the dimensions before the first that is 0.
 */
static uint64_t n_empty_lists(const struct leat_tensor *tensor) {
    uint64_t n = 1;

    for (uint32_t d = 0; d < tensor->ndim && tensor->shape[d] > 0; d++)
        if (__builtin_mul_overflow(n, tensor->shape[d], &n))
            return UINT64_MAX;
    return n;
}

/* Bounds the output by the size of the batch, whatever its header says. */
static int check_sizes(const struct leat_view *view, struct leat_error *err) {
    uint64_t n_rows = view->header.n_rows, n_lists = n_rows > MAX_EMPTY ? n_rows : MAX_EMPTY;
    bool is_bounded = n_rows <= MAX_EMPTY;

    for (size_t i = 0; i < view->header.n_tensors; i++) {
        const struct leat_tensor *tensor = &view->tensors[i];

        if (tensor->size_bytes == 0 && n_empty_lists(tensor) > n_lists)
            return leat_error_set(
                err, -EINVAL,
                "the tensor \"%s\" has more than %llu empty lists, too many for JSONL",
                tensor->name, (unsigned long long)n_lists);
        is_bounded = is_bounded || tensor->size_bytes >= n_rows;
    }
    if (is_bounded)
        return 0;
    return leat_error_set(err, -EINVAL,
                          "the batch is damaged: it has %u rows, but fewer bytes than rows",
                          view->header.n_rows);
}

int leat_save_jsonl(const struct leat_saving *saving, struct leat_saved_file *file,
                    struct leat_error *err) {
    struct line line = {.file = file, .view = saving->view, .has_rows = has_rows(saving)};
    locale_t plain, before;
    int r = check_sizes(saving->view, err);

    if (r < 0)
        return r;
    plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0); /* points, not commas */
    if (!plain)
        return leat_error_oom(err);
    before = uselocale(plain);
    for (uint64_t row = 0; row < saving->view->header.n_rows && !file->error.code; row++)
        write_row(&line, row);
    (void)uselocale(before);
    freelocale(plain);
    free(line.name.data);
    return line.name.failed ? leat_error_oom(err) : 0;
}
