/* encodings.c: see encodings.h.
 *
 * A column is read row by row, and padded on the way: as lists of Python's numbers, or as int32 or
 * int64 into a buffer [rows, width] (offsets: [rows, width, 2]). The attention mask is not stored:
 * it is 1 for each token, and 0 for padding.
 */
#define PY_SSIZE_T_CLEAN
#include "client/python/src/tokenizer/encodings.h"

#include <stdlib.h>
#include <string.h>
#include <structmember.h>

#include "client/python/src/types.h"

enum column { IDS, ATTENTION, TYPES, SPECIAL, OFFSETS, ASSISTANT, TOKENS, WORDS, TEXTS, N_COLUMNS };

static const char *const column_names[] = {
    "input_ids",       "attention_mask", "token_type_ids", "special_tokens_mask", "offset_mapping",
    "assistant_masks", "tokens",         "word_ids",       "sequence_ids",
};

struct encodings {
    PyObject_HEAD PyObject *owner; /* keeps the vocabulary */
    struct leat_py_vocabulary *vocabulary;
    struct leat_py_portion *portions;
    size_t n_portions, n_rows, longest;
};

/* The format of a column. */
struct layout {
    enum column column;
    size_t width; /* tokens of a row at least; 0: no padding */
    int64_t fill; /* the value of padding */
    bool pads_left;
};

/* One row of a column. */
struct line {
    const struct leat_py_portion *portion;
    size_t start, n;           /* tokens */
    size_t n_before, n_behind; /* of padding */
};

static PyTypeObject *encodings_type;

/* ---- columns */

static bool has_column(const struct encodings *self, enum column column) {
    const struct leat_encoding *tokens = &self->portions[0].tokens;
    const void *const columns[N_COLUMNS] = {
        [IDS] = tokens->ids,         [ATTENTION] = tokens->ids,   [TYPES] = tokens->type_ids,
        [SPECIAL] = tokens->special, [OFFSETS] = tokens->offsets, [ASSISTANT] = tokens->marks,
        [TOKENS] = tokens->surfaces, [WORDS] = tokens->words,     [TEXTS] = tokens->texts};

    return self->n_portions == 0 || columns[column];
}

static int find_column(const struct encodings *self, const char *name, enum column *ret_column) {
    for (int i = 0; i < N_COLUMNS; i++)
        if (strcmp(name, column_names[i]) == 0 && has_column(self, (enum column)i)) {
            *ret_column = (enum column)i;
            return 0;
        }
    PyErr_Format(PyExc_KeyError, "the result has no column \"%s\"", name);
    return -1;
}

static int make_layout(const struct encodings *self, const char *column, Py_ssize_t width,
                       long long fill, int pads_left, struct layout *ret_layout) {
    *ret_layout = (struct layout){
        .width = width > 0 ? (size_t)width : 0, .fill = fill, .pads_left = pads_left};
    return find_column(self, column, &ret_layout->column);
}

static struct line line_of(const struct leat_py_portion *portion, size_t row,
                           const struct layout *layout) {
    struct line line = {
        .portion = portion, .start = portion->rows[row].start, .n = portion->rows[row].n};
    size_t n_pads = layout->width > line.n ? layout->width - line.n : 0;

    *(layout->pads_left ? &line.n_before : &line.n_behind) = n_pads;
    return line;
}

static int64_t value_at(const struct leat_encoding *tokens, enum column column, size_t at) {
    switch (column) {
    case IDS:
        return tokens->ids[at];
    case TYPES:
        return tokens->type_ids[at];
    case SPECIAL:
        return tokens->special[at];
    case ASSISTANT:
        return tokens->marks[at] > 0;
    default:
        return 1;
    }
}

/* ---- lists */

static PyObject *offsets_of(struct leat_range range) {
    PyObject *start = PyLong_FromUnsignedLong(range.start);
    PyObject *end = PyLong_FromUnsignedLong(range.end);
    PyObject *pair = start && end ? PyTuple_Pack(2, start, end) : NULL;

    Py_XDECREF(start);
    Py_XDECREF(end);
    return pair;
}

static PyObject *number_or_none(bool is_none, uint32_t number) {
    return is_none ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(number);
}

static PyObject *token_at(const struct encodings *self, const struct leat_py_portion *portion,
                          size_t at) {
    const struct leat_encoding *tokens = &portion->tokens;
    uint32_t surface = tokens->surfaces[at], n;
    const uint8_t *text;

    if (!surface) /* a token of the post-processor has the name that it has there */
        return leat_py_vocabulary_token(self->vocabulary, tokens->ids[at],
                                        tokens->texts && !tokens->texts[at]);
    text = leat_surfaces_get(&portion->surfaces, surface, &n);
    return PyUnicode_DecodeUTF8((const char *)text, (Py_ssize_t)n, "replace");
}

static PyObject *item_at(const struct encodings *self, const struct line *line, enum column column,
                         size_t at) {
    const struct leat_encoding *tokens = &line->portion->tokens;

    switch (column) {
    case IDS:
        return leat_py_vocabulary_number(self->vocabulary, tokens->ids[at]);
    case OFFSETS:
        return offsets_of(tokens->offsets[at]);
    case TOKENS:
        return token_at(self, line->portion, at);
    case WORDS:
        return number_or_none(tokens->words[at] == LEAT_ENCODING_NO_WORD, tokens->words[at]);
    case TEXTS:
        return number_or_none(!tokens->texts[at], tokens->texts[at] - 1U);
    default:
        return PyLong_FromLongLong(value_at(tokens, column, at));
    }
}

static PyObject *padding_of(const struct encodings *self, const struct layout *layout) {
    switch (layout->column) {
    case OFFSETS:
        return offsets_of((struct leat_range){0, 0});
    case TOKENS:
        return leat_py_vocabulary_token(self->vocabulary, (int32_t)layout->fill, true);
    case WORDS:
    case TEXTS:
        return Py_NewRef(Py_None);
    default:
        return PyLong_FromLongLong(layout->fill);
    }
}

static int set_same(PyObject *list, size_t at, size_t n, PyObject *item) {
    for (size_t i = 0; i < n; i++)
        if (PyList_SetItem(list, (Py_ssize_t)(at + i), Py_NewRef(item)) < 0)
            return -1;
    return 0;
}

static int set_ones(PyObject *list, const struct line *line) {
    PyObject *one = PyLong_FromLong(1);
    int r = one ? set_same(list, line->n_before, line->n, one) : -1;

    Py_XDECREF(one);
    return r;
}

static int set_items(const struct encodings *self, PyObject *list, const struct line *line,
                     enum column column) {
    if (column == ATTENTION)
        return set_ones(list, line);
    for (size_t i = 0; i < line->n; i++) {
        PyObject *item = item_at(self, line, column, line->start + i);

        if (!item || PyList_SetItem(list, (Py_ssize_t)(line->n_before + i), item) < 0)
            return -1;
    }
    return 0;
}

static PyObject *make_list(const struct encodings *self, const struct line *line,
                           enum column column, PyObject *padding) {
    PyObject *list = PyList_New((Py_ssize_t)(line->n_before + line->n + line->n_behind));

    if (list && set_same(list, 0, line->n_before, padding) == 0 &&
        set_items(self, list, line, column) == 0 &&
        set_same(list, line->n_before + line->n, line->n_behind, padding) == 0)
        return list;
    Py_XDECREF(list);
    return NULL;
}

static int add_lists(const struct encodings *self, PyObject *lists, const struct layout *layout,
                     PyObject *padding) {
    Py_ssize_t at = 0;

    for (size_t i = 0; i < self->n_portions; i++)
        for (size_t row = 0; row < self->portions[i].n_rows; row++) {
            struct line line = line_of(&self->portions[i], row, layout);
            PyObject *list = make_list(self, &line, layout->column, padding);

            if (!list || PyList_SetItem(lists, at++, list) < 0)
                return -1;
        }
    return 0;
}

static PyObject *lists(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"column", "width", "fill", "pads_left", NULL};
    const struct encodings *self = (const struct encodings *)object;
    const char *column;
    Py_ssize_t width = 0;
    long long fill = 0;
    int pads_left = 0;
    struct layout layout;
    PyObject *made, *padding;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|nLp", names, &column, &width, &fill,
                                     &pads_left) ||
        make_layout(self, column, width, fill, pads_left, &layout) < 0)
        return NULL;
    padding = padding_of(self, &layout);
    made = padding ? PyList_New((Py_ssize_t)self->n_rows) : NULL;
    if (made && add_lists(self, made, &layout, padding) < 0) {
        Py_DECREF(made);
        made = NULL;
    }
    Py_XDECREF(padding);
    return made;
}

/* ---- buffers */

static void *put_padding(void *at, bool is_wide, size_t n, int64_t value) {
    int64_t *wide = at;
    int32_t *narrow = at;

    if (is_wide) {
        for (size_t i = 0; i < n; i++)
            wide[i] = value;
        return wide + n;
    }
    for (size_t i = 0; i < n; i++)
        narrow[i] = (int32_t)value;
    return narrow + n;
}

/* Writes n tokens of a column as int32 or int64. Returns their end. */
static void *put_tokens(void *at, bool is_wide, const struct leat_encoding *tokens,
                        enum column column, size_t start, size_t n) {
    const int32_t *numbers = NULL;
    int64_t *wide = at;
    int32_t *narrow = at;

    if (column == ATTENTION)
        return put_padding(at, is_wide, n, 1);
    if (column == IDS)
        numbers = tokens->ids + start;
    else if (column == TYPES)
        numbers = (const int32_t *)tokens->type_ids + start;
    else if (column == OFFSETS)
        numbers = (const int32_t *)(tokens->offsets + start);
    if (column == OFFSETS)
        n *= 2;
    if (numbers && !is_wide)
        memcpy(narrow, numbers, n * sizeof(*numbers));
    for (size_t i = 0; numbers && is_wide && i < n; i++)
        wide[i] = numbers[i];
    for (size_t i = 0; !numbers && i < n; i++) {
        int64_t value = value_at(tokens, column, start + i);

        if (is_wide)
            wide[i] = value;
        else
            narrow[i] = (int32_t)value;
    }
    return is_wide ? (void *)(wide + n) : narrow + n;
}

static void *put_line(void *at, bool is_wide, const struct line *line,
                      const struct layout *layout) {
    const struct leat_encoding *tokens = &line->portion->tokens;
    size_t n_each = layout->column == OFFSETS ? 2 : 1;

    at = put_padding(at, is_wide, n_each * line->n_before, layout->fill);
    at = put_tokens(at, is_wide, tokens, layout->column, line->start, line->n);
    return put_padding(at, is_wide, n_each * line->n_behind, layout->fill);
}

static void put_all(const struct encodings *self, void *at, bool is_wide,
                    const struct layout *layout) {
    for (size_t i = 0; i < self->n_portions; i++)
        for (size_t row = 0; row < self->portions[i].n_rows; row++) {
            struct line line = line_of(&self->portions[i], row, layout);

            at = put_line(at, is_wide, &line, layout);
        }
}

/* Checks that no row is longer than the width, and that the buffer has the size of all rows. */
static int check_buffer(const struct encodings *self, const Py_buffer *buffer,
                        const struct layout *layout, int is_wide) {
    size_t n_each = layout->column == OFFSETS ? 2 : 1, n_bytes;

    for (size_t i = 0; i < self->n_portions; i++)
        for (size_t row = 0; row < self->portions[i].n_rows; row++)
            if (self->portions[i].rows[row].n > layout->width) {
                PyErr_Format(PyExc_ValueError, "a row has %zu tokens, but the width is %zu",
                             self->portions[i].rows[row].n, layout->width);
                return -1;
            }
    if (!__builtin_mul_overflow(self->n_rows * n_each * (is_wide ? 8U : 4U), layout->width,
                                &n_bytes) &&
        (size_t)buffer->len == n_bytes)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "the buffer has %zd bytes, but %zu rows of %zu need another size", buffer->len,
                 self->n_rows, layout->width);
    return -1;
}

static int need_numbers(const struct layout *layout) {
    if (layout->column < TOKENS)
        return 0;
    PyErr_Format(PyExc_KeyError, "the column \"%s\" exists only as lists: ask for lists",
                 column_names[layout->column]);
    return -1;
}

static PyObject *fill(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"column", "into", "is_wide", "width", "fill", "pads_left", NULL};
    const struct encodings *self = (const struct encodings *)object;
    const char *column;
    PyObject *into;
    Py_ssize_t width;
    long long value = 0;
    int is_wide, pads_left = 0, r;
    struct layout layout;
    Py_buffer buffer;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sOpn|Lp", names, &column, &into, &is_wide,
                                     &width, &value, &pads_left) ||
        make_layout(self, column, width, value, pads_left, &layout) < 0 ||
        need_numbers(&layout) < 0 ||
        PyObject_GetBuffer(into, &buffer, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0)
        return NULL;
    r = check_buffer(self, &buffer, &layout, is_wide);
    if (r == 0) {
        Py_BEGIN_ALLOW_THREADS;
        put_all(self, buffer.buf, is_wide, &layout);
        Py_END_ALLOW_THREADS;
    }
    PyBuffer_Release(&buffer);
    return r < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---- flat */

static size_t n_tokens_of(const struct encodings *self) {
    size_t n = 0;

    for (size_t i = 0; i < self->n_portions; i++)
        n += self->portions[i].tokens.n;
    return n;
}

/* Takes a writable buffer of n_bytes. Returns 0, or -1 with an exception. */
static int take_buffer(PyObject *into, size_t n_bytes, Py_buffer *ret_buffer) {
    if (PyObject_GetBuffer(into, ret_buffer, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0)
        return -1;
    if ((size_t)ret_buffer->len == n_bytes)
        return 0;
    PyErr_Format(PyExc_ValueError, "the buffer has %zd bytes, but it must have %zu",
                 ret_buffer->len, n_bytes);
    PyBuffer_Release(ret_buffer);
    return -1;
}

static PyObject *flat(PyObject *object, PyObject *args) {
    const struct encodings *self = (const struct encodings *)object;
    size_t n_each;
    const char *column;
    PyObject *into;
    struct layout layout;
    Py_buffer buffer;
    void *at;

    if (!PyArg_ParseTuple(args, "sO", &column, &into) ||
        make_layout(self, column, 0, 0, false, &layout) < 0 || need_numbers(&layout) < 0)
        return NULL;
    n_each = (layout.column == OFFSETS ? 2 : 1) * sizeof(int32_t);
    if (take_buffer(into, n_tokens_of(self) * n_each, &buffer) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    at = buffer.buf;
    for (size_t i = 0; i < self->n_portions; i++)
        at = put_tokens(at, false, &self->portions[i].tokens, layout.column, 0,
                        self->portions[i].tokens.n);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&buffer);
    return Py_NewRef(Py_None);
}

static PyObject *row_offsets(PyObject *object, PyObject *into) {
    const struct encodings *self = (const struct encodings *)object;
    Py_buffer buffer;
    int64_t *at;

    if (take_buffer(into, (self->n_rows + 1) * sizeof(*at), &buffer) < 0)
        return NULL;
    at = buffer.buf;
    *at = 0;
    for (size_t i = 0; i < self->n_portions; i++)
        for (size_t row = 0; row < self->portions[i].n_rows; row++, at++)
            at[1] = at[0] + (int64_t)self->portions[i].rows[row].n;
    PyBuffer_Release(&buffer);
    return Py_NewRef(Py_None);
}

static PyObject *n_tokens(PyObject *object, void *unused) {
    return PyLong_FromSize_t(n_tokens_of((const struct encodings *)object));
}

/* ---- rows */

static PyObject *numbers_of_rows(const struct encodings *self, bool wants_input) {
    PyObject *made = PyList_New((Py_ssize_t)self->n_rows);
    Py_ssize_t at = 0;

    for (size_t i = 0; made && i < self->n_portions; i++)
        for (size_t row = 0; made && row < self->portions[i].n_rows; row++) {
            const struct leat_py_row *one = &self->portions[i].rows[row];
            PyObject *number = PyLong_FromSize_t(wants_input ? one->input : one->n);

            if (!number || PyList_SetItem(made, at++, number) < 0)
                Py_CLEAR(made);
        }
    return made;
}

static PyObject *lengths(PyObject *object, PyObject *unused) {
    return numbers_of_rows((const struct encodings *)object, false);
}

static PyObject *inputs(PyObject *object, PyObject *unused) {
    return numbers_of_rows((const struct encodings *)object, true);
}

static Py_ssize_t length(PyObject *object) {
    return (Py_ssize_t)((const struct encodings *)object)->n_rows;
}

/* ---- the type */

PyObject *leat_py_encodings_new(PyObject *owner, struct leat_py_vocabulary *vocabulary,
                                struct leat_py_portion *take_portions, size_t n_portions) {
    struct encodings *self = PyObject_New(struct encodings, encodings_type);

    if (!self) {
        leat_py_portions_free(take_portions, n_portions);
        return NULL;
    }
    self->owner = Py_NewRef(owner);
    self->vocabulary = vocabulary;
    self->portions = take_portions;
    self->n_portions = n_portions;
    self->n_rows = self->longest = 0;
    for (size_t i = 0; i < n_portions; i++) {
        self->n_rows += take_portions[i].n_rows;
        for (size_t row = 0; row < take_portions[i].n_rows; row++)
            if (take_portions[i].rows[row].n > self->longest)
                self->longest = take_portions[i].rows[row].n;
    }
    return (PyObject *)self;
}

static void dealloc(PyObject *object) {
    struct encodings *self = (struct encodings *)object;

    leat_py_portions_free(self->portions, self->n_portions);
    Py_DECREF(self->owner);
    leat_py_object_free(object);
}

static PyMethodDef methods[] = {
    {"lists", LEAT_PY_KEYWORDS(lists), NULL},
    {"fill", LEAT_PY_KEYWORDS(fill), NULL},
    {"flat", flat, METH_VARARGS, NULL},
    {"row_offsets", row_offsets, METH_O, NULL},
    {"lengths", lengths, METH_NOARGS, NULL},
    {"inputs", inputs, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"longest", T_PYSSIZET, offsetof(struct encodings, longest), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"n_tokens", n_tokens, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void *)dealloc}, {Py_tp_methods, methods},       {Py_tp_members, members},
    {Py_tp_getset, getters},          {Py_sq_length, (void *)length}, {0, NULL},
};

int leat_py_encodings_register(PyObject *module) {
    encodings_type =
        leat_py_type_add(module, "leat._leat.Encodings", sizeof(struct encodings),
                         Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots);
    return encodings_type ? 0 : -1;
}

/* ---- the vocabulary ---- */

int leat_py_vocabulary_init(struct leat_py_vocabulary *vocabulary,
                            struct leat_tokenizer *take_tokenizer) {
    vocabulary->tokenizer = take_tokenizer;
    vocabulary->n_ids = leat_tokenizer_n_ids(take_tokenizer);
    vocabulary->numbers = calloc(vocabulary->n_ids + 1, sizeof(PyObject *));
    if (vocabulary->numbers)
        return 0;
    PyErr_NoMemory();
    return -1;
}

void leat_py_vocabulary_deinit(struct leat_py_vocabulary *vocabulary) {
    for (size_t i = 0; vocabulary->numbers && i < vocabulary->n_ids; i++)
        Py_XDECREF(vocabulary->numbers[i]);
    free(vocabulary->numbers);
    leat_tokenizer_free(vocabulary->tokenizer);
}

PyObject *leat_py_vocabulary_number(struct leat_py_vocabulary *vocabulary, int32_t id) {
    PyObject **number;

    if (id < 0 || (size_t)id >= vocabulary->n_ids)
        return PyLong_FromLong(id);
    number = &vocabulary->numbers[id];
    if (!*number)
        *number = PyLong_FromLong(id);
    return Py_XNewRef(*number);
}

PyObject *leat_py_vocabulary_token(const struct leat_py_vocabulary *vocabulary, int32_t id,
                                   bool is_entry) {
    uint32_t n = 0;
    const uint8_t *text = is_entry ? leat_tokenizer_entry(vocabulary->tokenizer, id, &n)
                                   : leat_tokenizer_token(vocabulary->tokenizer, id, &n);

    return text ? PyUnicode_DecodeUTF8((const char *)text, (Py_ssize_t)n, "replace")
                : Py_NewRef(Py_None);
}

static int add_entry(PyObject *dict, struct leat_py_vocabulary *vocabulary, int32_t id) {
    PyObject *token = leat_py_vocabulary_token(vocabulary, id, true), *number;
    int r = token == Py_None ? 0 : -1;

    number = token && r < 0 ? leat_py_vocabulary_number(vocabulary, id) : NULL;
    if (number)
        r = PyDict_SetItem(dict, token, number);
    Py_XDECREF(token);
    Py_XDECREF(number);
    return r;
}

PyObject *leat_py_vocabulary_dict(struct leat_py_vocabulary *vocabulary, bool only_added) {
    PyObject *dict = PyDict_New();

    for (int32_t id = 0; dict && (size_t)id < vocabulary->n_ids; id++)
        if ((!only_added || leat_tokenizer_is_added(vocabulary->tokenizer, id)) &&
            add_entry(dict, vocabulary, id) < 0)
            Py_CLEAR(dict);
    return dict;
}
