/* tokenizer.c: `_leat.Tokenizer`.
 *
 * Texts are encoded without Python's lock, by as many threads as their bytes are worth. Contexts,
 * with their caches of words, are kept from call to call; each of several calls at a time takes its
 * own. Python's lock guards the pool of contexts.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

#include "client/python/src/raise.h"
#include "client/python/src/tokenizer/encodings.h"
#include "client/python/src/types.h"
#include "proto/base/calls.h"

#define THREADS_DEFAULT_MAX 8

struct tokenizer {
    PyObject_HEAD struct leat_py_vocabulary vocabulary;
    struct leat_tokenizer_context *idle[LEAT_PY_THREADS_MAX];
    size_t n_idle, n_threads;
    bool pads_left, cuts_left; /* by its file */
};

static const char *const strategies[] = {"longest_first", "only_first", "only_second", NULL};

static const struct leat_tokenizer *get(PyObject *object) {
    return ((const struct tokenizer *)object)->vocabulary.tokenizer;
}

/* ---- making it */

static size_t default_threads(void) {
    unsigned n = leat_n_cpus();

    return n < THREADS_DEFAULT_MAX ? n : THREADS_DEFAULT_MAX;
}

static int load(struct tokenizer *self, const char *path, const Py_buffer *json) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_tokenizer *tokenizer;
    const struct leat_padding *padding;
    const struct leat_truncation *truncation;
    int r;

    Py_BEGIN_ALLOW_THREADS;
    r = json->buf ? leat_tokenizer_new(json->buf, (size_t)json->len, path, &tokenizer, &err)
                  : leat_tokenizer_open(path, NULL, &tokenizer, &err);
    Py_END_ALLOW_THREADS;
    if (r < 0) {
        leat_py_raise(&err);
        return -1;
    }
    padding = leat_tokenizer_padding(tokenizer);
    truncation = leat_tokenizer_truncation(tokenizer);
    self->pads_left = padding->is_on && padding->pads_left;
    self->cuts_left = truncation->is_on && truncation->cuts_left;
    return leat_py_vocabulary_init(&self->vocabulary, tokenizer);
}

static PyObject *new (PyTypeObject *own, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"path", "json", "threads", NULL};
    Py_buffer json = {.buf = NULL};
    PyObject *path = NULL;
    struct tokenizer *self = NULL;
    int n_threads = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|y*i", names, PyUnicode_FSConverter, &path,
                                     &json, &n_threads))
        return NULL;
    if (n_threads < 0 || n_threads > LEAT_PY_THREADS_MAX)
        PyErr_Format(PyExc_ValueError, "threads is %d, but it must be in 0..%d", n_threads,
                     LEAT_PY_THREADS_MAX);
    else
        self = (struct tokenizer *)PyType_GenericAlloc(own, 0);
    if (self) {
        self->n_threads = n_threads ? (size_t)n_threads : default_threads();
        if (load(self, PyBytes_AsString(path), &json) < 0)
            Py_CLEAR(self);
    }
    if (json.obj)
        PyBuffer_Release(&json);
    Py_DECREF(path);
    return (PyObject *)self;
}

static void dealloc(PyObject *object) {
    struct tokenizer *self = (struct tokenizer *)object;

    for (size_t i = 0; i < self->n_idle; i++)
        leat_tokenizer_context_free(self->idle[i]);
    leat_py_vocabulary_deinit(&self->vocabulary);
    leat_py_object_free(object);
}

/* ---- contexts */

static void give_contexts(struct tokenizer *self, struct leat_tokenizer_context **contexts,
                          size_t n) {
    for (size_t i = 0; i < n; i++)
        if (self->n_idle < self->n_threads)
            self->idle[self->n_idle++] = contexts[i];
        else
            leat_tokenizer_context_free(contexts[i]);
}

/* Returns how many were taken: 1 to n, or 0 with an exception. */
static size_t take_contexts(struct tokenizer *self, struct leat_tokenizer_context **contexts,
                            size_t n) {
    for (size_t i = 0; i < n; i++)
        if (self->n_idle > 0) {
            contexts[i] = self->idle[--self->n_idle];
        } else if (leat_tokenizer_context_new(self->vocabulary.tokenizer, &contexts[i]) < 0) {
            if (i == 0)
                PyErr_NoMemory();
            return i;
        }
    return n;
}

/* ---- inputs */

/* A call of encode(), with references to what is read without Python's lock. */
struct call {
    struct tokenizer *self;
    PyObject *texts, *pairs, *marks, *words[2]; /* tuples; all but texts may be NULL */
    size_t n;
    struct leat_py_input *inputs;
    struct leat_truncation truncation;
    struct leat_padding padding; /* none: Encodings pads */
    PyThreadState *state;
};

static int read_text(PyObject *texts, size_t at, const char *what, const char **ret_text,
                     size_t *ret_n) {
    PyObject *text = PyTuple_GetItem(texts, (Py_ssize_t)at);
    Py_ssize_t n = 0;

    if (!text)
        return -1;
    if (!PyUnicode_Check(text)) {
        PyErr_Format(PyExc_TypeError, "%s[%zu] is a %R, but it must be a str", what, at,
                     (PyObject *)Py_TYPE(text));
        return -1;
    }
    *ret_text = PyUnicode_AsUTF8AndSize(text, &n);
    *ret_n = (size_t)n;
    return *ret_text ? 0 : -1;
}

/* Reads an item of a tuple: bytes, packed native uint32. */
static int read_packed(PyObject *tuple, size_t at, const uint32_t **ret_numbers, size_t *ret_n) {
    PyObject *packed = PyTuple_GetItem(tuple, (Py_ssize_t)at);
    Py_ssize_t n_bytes = 0;
    char *bytes = NULL;

    if (!packed || PyBytes_AsStringAndSize(packed, &bytes, &n_bytes) < 0)
        return -1;
    *ret_numbers = (const uint32_t *)(const void *)bytes;
    *ret_n = (size_t)n_bytes / sizeof(**ret_numbers);
    return 0;
}

/* The tokenizer trusts marks and ends of words, so they are checked here. */
static int read_marks(PyObject *marks, size_t at, struct leat_py_input *input) {
    const uint32_t *numbers;
    uint32_t end = 0;
    size_t n;

    if (read_packed(marks, at, &numbers, &n) < 0)
        return -1;
    input->marks = (const struct leat_range *)numbers;
    input->n_marks = n / 2;
    for (size_t i = 0; i < input->n_marks; i++) {
        struct leat_range range = input->marks[i];

        if (range.start < end || range.end < range.start || range.end > input->n_text) {
            PyErr_Format(PyExc_ValueError,
                         "marks[%zu] must be ranges of the text in ascending order", at);
            return -1;
        }
        end = range.end;
    }
    return 0;
}

static int read_words(PyObject *words, size_t at, size_t n_text, struct leat_word_ends *ret_words) {
    uint32_t end = 0;

    if (read_packed(words, at, &ret_words->ends, &ret_words->n) < 0)
        return -1;
    for (size_t i = 0; i < ret_words->n && ret_words->ends[i] >= end; i++)
        end = ret_words->ends[i];
    if (end == n_text)
        return 0;
    PyErr_Format(
        PyExc_ValueError,
        "words[%zu] must be ends of words in ascending order, the last at the end of the text", at);
    return -1;
}

static int read_input(struct call *call, size_t at) {
    struct leat_py_input *input = &call->inputs[at];

    if (read_text(call->texts, at, "texts", &input->text, &input->n_text) < 0)
        return -1;
    if (call->pairs && read_text(call->pairs, at, "pairs", &input->pair, &input->n_pair) < 0)
        return -1;
    if (call->words[0] && read_words(call->words[0], at, input->n_text, &input->words[0]) < 0)
        return -1;
    if (call->words[1] && read_words(call->words[1], at, input->n_pair, &input->words[1]) < 0)
        return -1;
    return call->marks ? read_marks(call->marks, at, input) : 0;
}

/* Makes a tuple of a sequence of n objects; n -1: of any number. */
static PyObject *take_tuple(PyObject *sequence, Py_ssize_t n, const char *what) {
    PyObject *tuple;

    if (PyUnicode_Check(sequence) || PyBytes_Check(sequence)) {
        PyErr_Format(PyExc_TypeError, "%s must be a list, not a single item", what);
        return NULL;
    }
    tuple = PySequence_Tuple(sequence);
    if (tuple && n >= 0 && PyTuple_Size(tuple) != n) {
        PyErr_Format(PyExc_ValueError, "you gave %zd %s for %zd texts; give one for each text",
                     PyTuple_Size(tuple), what, n);
        Py_CLEAR(tuple);
    }
    return tuple;
}

static int take_optional(PyObject *sequence, Py_ssize_t n, const char *what, PyObject **ret_tuple) {
    if (sequence != Py_None)
        *ret_tuple = take_tuple(sequence, n, what);
    return PyErr_Occurred() ? -1 : 0;
}

static int call_init(struct call *call, PyObject *texts, PyObject *pairs, PyObject *marks,
                     PyObject *words, PyObject *pair_words) {
    Py_ssize_t n;

    call->texts = take_tuple(texts, -1, "texts");
    if (!call->texts)
        return -1;
    n = PyTuple_Size(call->texts);
    if (take_optional(pairs, n, "pairs", &call->pairs) < 0 ||
        take_optional(marks, n, "marks", &call->marks) < 0 ||
        take_optional(words, n, "words", &call->words[0]) < 0 ||
        take_optional(pair_words, n, "pair_words", &call->words[1]) < 0)
        return -1;
    call->n = (size_t)n;
    call->inputs = calloc(call->n + 1, sizeof(*call->inputs));
    if (!call->inputs) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < call->n; i++)
        if (read_input(call, i) < 0)
            return -1;
    return 0;
}

static void call_deinit(struct call *call) {
    free(call->inputs);
    Py_XDECREF(call->texts);
    Py_XDECREF(call->pairs);
    Py_XDECREF(call->marks);
    Py_XDECREF(call->words[0]);
    Py_XDECREF(call->words[1]);
}

/* ---- encode */

static bool is_interrupted(void *asked) {
    struct call *call = asked;
    bool is_raised;

    PyEval_RestoreThread(call->state);
    is_raised = PyErr_CheckSignals() < 0;
    call->state = PyEval_SaveThread();
    return is_raised;
}

static PyObject *run(struct call *call, struct leat_py_encoder *encoder) {
    struct leat_tokenizer_context *contexts[LEAT_PY_THREADS_MAX];
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n_wanted, n_contexts;
    int r;

    if (leat_py_encoder_init(encoder, call->n) < 0)
        return PyErr_NoMemory();
    n_wanted =
        encoder->n_portions < call->self->n_threads ? encoder->n_portions : call->self->n_threads;
    n_contexts = take_contexts(call->self, contexts, n_wanted ? n_wanted : 1);
    if (n_contexts == 0) {
        leat_py_portions_free(encoder->portions, encoder->n_portions);
        return NULL;
    }
    call->state = PyEval_SaveThread();
    r = leat_py_encoder_run(encoder, contexts, n_contexts, is_interrupted, call, &err);
    PyEval_RestoreThread(call->state);
    give_contexts(call->self, contexts, n_contexts);
    if (r == 0)
        return leat_py_encodings_new((PyObject *)call->self, &call->self->vocabulary,
                                     encoder->portions, encoder->n_portions);
    leat_py_portions_free(encoder->portions, encoder->n_portions);
    return r == -EINTR ? NULL : leat_py_raise(&err);
}

static int read_strategy(const char *name, struct leat_truncation *truncation) {
    for (int i = 0; strategies[i]; i++)
        if (strcmp(name, strategies[i]) == 0) {
            truncation->strategy = (unsigned)i;
            return 0;
        }
    PyErr_Format(PyExc_ValueError,
                 "strategy is \"%s\", but it must be longest_first, only_first or only_second",
                 name);
    return -1;
}

static int read_truncation(struct call *call, Py_ssize_t max_length, Py_ssize_t stride,
                           const char *strategy, bool cuts_left) {
    call->truncation.is_on = max_length >= 0;
    call->truncation.cuts_left = cuts_left;
    if (!call->truncation.is_on)
        return 0;
    if (max_length > UINT32_MAX || stride < 0 || stride > UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "max_length and stride must be in 0..4294967295");
        return -1;
    }
    call->truncation.max_length = (uint32_t)max_length;
    call->truncation.stride = (uint32_t)stride;
    return read_strategy(strategy, &call->truncation);
}

static PyObject *encode(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"texts",
                            "pairs",
                            "marks",
                            "columns",
                            "max_length",
                            "stride",
                            "strategy",
                            "cuts_left",
                            "with_overflow",
                            "adds_special_tokens",
                            "splits_special_tokens",
                            "words",
                            "pair_words",
                            NULL};
    struct call call = {.self = (struct tokenizer *)object};
    PyObject *texts, *pairs = Py_None, *marks = Py_None, *made = NULL;
    PyObject *words = Py_None, *pair_words = Py_None;
    unsigned int columns = 0;
    Py_ssize_t max_length = -1, stride = 0;
    const char *strategy = strategies[0];
    int cuts_left = 0, with_overflow = 0, adds_special = 1, splits_special = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOInnsppppOO", names, &texts, &pairs, &marks,
                                     &columns, &max_length, &stride, &strategy, &cuts_left,
                                     &with_overflow, &adds_special, &splits_special, &words,
                                     &pair_words) ||
        read_truncation(&call, max_length, stride, strategy, cuts_left) < 0)
        return NULL;
    if (call_init(&call, texts, pairs, marks, words, pair_words) == 0) {
        struct leat_py_encoder encoder = {
            .tokenizer = call.self->vocabulary.tokenizer,
            .inputs = call.inputs,
            .options = {.adds_special_tokens = adds_special,
                        .encodes_special_tokens = splits_special,
                        .drops_overflow = !with_overflow,
                        .offsets_in_chars = true,
                        .columns = columns & ~(uint32_t)LEAT_ENCODING_ATTENTION,
                        .truncation = &call.truncation,
                        .padding = &call.padding},
            .with_overflow = with_overflow,
        };

        made = run(&call, &encoder);
    }
    call_deinit(&call);
    return made;
}

/* ---- decode */

static int read_id(PyObject *ids, Py_ssize_t at, int32_t *ret_id) {
    PyObject *item = PySequence_GetItem(ids, at), *number = item ? PyNumber_Index(item) : NULL;
    long long id = number ? PyLong_AsLongLong(number) : -1;

    Py_XDECREF(item);
    Py_XDECREF(number);
    if (PyErr_Occurred())
        return -1;
    *ret_id = id < 0 || id > INT32_MAX ? INT32_MAX : (int32_t)id; /* which has no token */
    return 0;
}

static int32_t *read_ids(PyObject *ids, size_t *ret_n) {
    Py_ssize_t n = PySequence_Size(ids);
    int32_t *read = n < 0 ? NULL : malloc(((size_t)n + 1) * sizeof(*read));

    if (!read)
        return n < 0 ? NULL : (int32_t *)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++)
        if (read_id(ids, i, &read[i]) < 0) {
            free(read);
            return NULL;
        }
    *ret_n = (size_t)n;
    return read;
}

static PyObject *decode(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"ids", "skips_special", NULL};
    struct leat_error err = LEAT_ERROR_INIT;
    PyObject *sequence, *made;
    int32_t *ids;
    size_t n_ids = 0, n_text;
    int skips_special = 0, r;
    char *text = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p", names, &sequence, &skips_special) ||
        !(ids = read_ids(sequence, &n_ids)))
        return NULL;
    r = leat_tokenizer_decode(get(object), ids, n_ids, skips_special, &text, &n_text, &err);
    free(ids);
    if (r < 0)
        return leat_py_raise(&err);
    made = PyUnicode_DecodeUTF8(text, (Py_ssize_t)n_text, "replace");
    free(text);
    return made;
}

/* The texts belong to the tokens. False with an exception. */
static bool read_tokens(PyObject *tokens, size_t n, const char **ret_texts, uint32_t *ret_n_bytes) {
    for (size_t i = 0; i < n; i++) {
        PyObject *token = PyTuple_GetItem(tokens, (Py_ssize_t)i);
        Py_ssize_t n_bytes = 0;

        ret_texts[i] = token ? PyUnicode_AsUTF8AndSize(token, &n_bytes) : NULL;
        if (ret_texts[i] && n_bytes > INT32_MAX)
            PyErr_SetString(PyExc_OverflowError, "a token has more than 2 GiB");
        if (PyErr_Occurred())
            return false;
        ret_n_bytes[i] = (uint32_t)n_bytes;
    }
    return true;
}

static PyObject *join_all(PyObject *object, PyObject *tokens, size_t n) {
    const char **texts = calloc(n + 1, sizeof(*texts));
    uint32_t *n_bytes = calloc(n + 1, sizeof(*n_bytes));
    struct leat_error err = LEAT_ERROR_INIT;
    PyObject *made = NULL;
    char *text = NULL;
    size_t n_text;

    if (!texts || !n_bytes)
        PyErr_NoMemory();
    else if (read_tokens(tokens, n, texts, n_bytes))
        made = leat_tokenizer_join(get(object), texts, n_bytes, n, &text, &n_text, &err) < 0
                   ? leat_py_raise(&err)
                   : PyUnicode_DecodeUTF8(text, (Py_ssize_t)n_text, "replace");
    free(texts);
    free(n_bytes);
    free(text);
    return made;
}

static PyObject *join(PyObject *object, PyObject *argument) {
    PyObject *tokens = PySequence_Tuple(argument), *made;

    if (!tokens)
        return NULL;
    made = join_all(object, tokens, (size_t)PyTuple_Size(tokens));
    Py_DECREF(tokens);
    return made;
}

/* ---- tokens */

/* Returns -1 for a number that is no id, or with an exception. */
static int32_t id_of(PyObject *argument) {
    long long id = PyLong_AsLongLong(argument);

    return id < 0 || id > INT32_MAX ? -1 : (int32_t)id;
}

static PyObject *find_id(PyObject *object, PyObject *token) {
    Py_ssize_t n;
    const char *text = PyUnicode_AsUTF8AndSize(token, &n);
    int32_t id = text ? leat_tokenizer_id(get(object), text, (size_t)n) : -1;

    if (!text)
        return NULL;
    return id < 0 ? Py_NewRef(Py_None)
                  : leat_py_vocabulary_number(&((struct tokenizer *)object)->vocabulary, id);
}

static PyObject *find_token(PyObject *object, PyObject *argument) {
    int32_t id = id_of(argument);

    return PyErr_Occurred()
               ? NULL
               : leat_py_vocabulary_token(&((struct tokenizer *)object)->vocabulary, id, false);
}

static PyObject *added_flags(PyObject *object, PyObject *argument) {
    int32_t id = id_of(argument);
    struct leat_added_token_flags flags;

    if (PyErr_Occurred())
        return NULL;
    if (!leat_tokenizer_added(get(object), id, &flags))
        return Py_NewRef(Py_None);
    return Py_BuildValue("(NNNNN)", PyBool_FromLong(flags.is_single_word),
                         PyBool_FromLong(flags.strips_left), PyBool_FromLong(flags.strips_right),
                         PyBool_FromLong(flags.is_normalized), PyBool_FromLong(flags.is_special));
}

static PyObject *make_vocab(PyObject *object, PyObject *only_added) {
    int is_only = PyObject_IsTrue(only_added);

    return is_only < 0
               ? NULL
               : leat_py_vocabulary_dict(&((struct tokenizer *)object)->vocabulary, is_only);
}

static PyObject *is_special(PyObject *object, PyObject *argument) {
    int32_t id = id_of(argument);

    if (PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(id >= 0 && leat_tokenizer_is_special(get(object), id));
}

static PyObject *n_tokens(PyObject *object, PyObject *with_added) {
    int is_with = PyObject_IsTrue(with_added);

    return is_with < 0 ? NULL
                       : PyLong_FromUnsignedLong(leat_tokenizer_n_tokens(get(object), is_with));
}

static PyObject *n_added(PyObject *object, PyObject *is_pair) {
    int is = PyObject_IsTrue(is_pair);

    return is < 0 ? NULL : PyLong_FromSize_t(leat_tokenizer_n_added(get(object), is));
}

static PyObject *describe(PyObject *object, PyObject *unused) {
    char *text = leat_tokenizer_describe(get(object));
    PyObject *made = text ? PyUnicode_FromString(text) : PyErr_NoMemory();

    free(text);
    return made;
}

static PyObject *pad_id(PyObject *object, void *unused) {
    int32_t id = leat_tokenizer_pad_id(get(object));

    return id < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(id);
}

static PyMethodDef methods[] = {
    {"encode", LEAT_PY_KEYWORDS(encode), NULL},
    {"decode", LEAT_PY_KEYWORDS(decode), NULL},
    {"join", join, METH_O, NULL},
    {"id", find_id, METH_O, NULL},
    {"token", find_token, METH_O, NULL},
    {"is_special", is_special, METH_O, NULL},
    {"added", added_flags, METH_O, NULL},
    {"vocab", make_vocab, METH_O, NULL},
    {"n_tokens", n_tokens, METH_O, NULL},
    {"n_added", n_added, METH_O, NULL},
    {"describe", describe, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"n_threads", T_PYSSIZET, offsetof(struct tokenizer, n_threads), READONLY, NULL},
    {"pads_left", T_BOOL, offsetof(struct tokenizer, pads_left), READONLY, NULL},
    {"cuts_left", T_BOOL, offsetof(struct tokenizer, cuts_left), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"pad_id", pad_id, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)new}, {Py_tp_dealloc, (void *)dealloc}, {Py_tp_methods, methods},
    {Py_tp_members, members}, {Py_tp_getset, getters},          {0, NULL},
};

int leat_py_tokenizer_register(PyObject *module) {
    return leat_py_type_add(module, "leat._leat.Tokenizer", sizeof(struct tokenizer),
                            Py_TPFLAGS_IMMUTABLETYPE, slots)
               ? 0
               : -1;
}
