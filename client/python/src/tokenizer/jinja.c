/* jinja.c: `_leat.render_chats`: writes conversations by a Jinja template, as the stage `chat` does
 * with `template: auto`: both use pipeline/tokenizer/jinja/. Variables are JSON, as in the stage.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <time.h>

#include "client/python/src/raise.h"
#include "client/python/src/types.h"
#include "pipeline/tokenizer/jinja/jinja.h"
#include "pipeline/tokenizer/json.h"
#include "pipeline/tokenizer/range.h"

struct rendering {
    struct leat_jinja_template *template;
    struct leat_jinja_render *render;
    struct leat_json *json;
};

static void end(struct rendering *rendering) {
    (void)leat_jinja_render_free(rendering->render);
    (void)leat_jinja_template_free(rendering->template);
    leat_json_free(rendering->json);
}

/* Begins with the template and the JSON text of the variables; *ret_root: all conversations. */
static int begin(struct rendering *rendering, const Py_buffer *template, const Py_buffer *variables,
                 const struct tm *date, struct leat_json_node *ret_root, struct leat_error *err) {
    size_t n = (size_t)variables->len;
    int r = leat_jinja_compile(template->buf, (size_t) template->len, &rendering->template, err);

    if (r < 0)
        return r;
    rendering->render = leat_jinja_render_new(rendering->template);
    if (!rendering->render || leat_json_new(n, &rendering->json) < 0)
        return leat_error_oom(err);
    leat_jinja_render_date(rendering->render, date);
    r = leat_json_parse_record(rendering->json, variables->buf, n, n, ret_root, err);
    return r == 0 && leat_json_kind(*ret_root) != LEAT_JSON_ARRAY
               ? leat_error_set(err, -EINVAL, "the variables must be an array of objects")
               : r;
}

static PyObject *make_page(const char *text, size_t n, const struct leat_jinja_part *parts,
                           size_t n_parts) {
    PyObject *marks = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n_parts * sizeof(uint32_t[2])));
    struct leat_range *ranges = marks ? (void *)PyBytes_AsString(marks) : NULL;
    PyObject *page;
    size_t n_ranges = 0, at = 0;

    for (size_t i = 0; ranges && i < n_parts; i++) {
        if (parts[i].start < at || parts[i].start >= parts[i].end || parts[i].end > n)
            continue; /* a part within another, or without text */
        ranges[n_ranges++] =
            (struct leat_range){.start = (uint32_t)parts[i].start, .end = (uint32_t)parts[i].end};
        at = parts[i].end;
    }
    page = ranges ? Py_BuildValue("(s#y#)", n ? text : "", (Py_ssize_t)n, (const char *)ranges,
                                  (Py_ssize_t)(n_ranges * sizeof(*ranges)))
                  : NULL;
    Py_XDECREF(marks);
    return page;
}

static int set_variables(struct rendering *rendering, struct leat_json_node object,
                         struct leat_error *err) {
    struct leat_json_iterator iterator;
    struct leat_json_node item;
    const char *key;
    size_t n_key;
    int r = leat_jinja_render_begin(rendering->render, err);

    leat_json_iterate(object, &iterator);
    while (r == 0 && leat_json_next_member(&iterator, &key, &n_key, &item)) {
        struct leat_jinja_value value;

        r = leat_jinja_render_json(rendering->render, item, &value, err);
        if (r == 0)
            r = leat_jinja_render_set(rendering->render, key, n_key, value, err);
    }
    return r;
}

/* NULL with err set, or with an exception. */
static PyObject *write_page(struct rendering *rendering, struct leat_json_node object,
                            struct leat_error *err) {
    const struct leat_jinja_part *parts;
    const char *text;
    size_t n, n_parts;
    int r = set_variables(rendering, object, err);

    if (r == 0)
        r = leat_jinja_render_run(rendering->render, &text, &n, &parts, &n_parts, err);
    return r < 0 ? NULL : make_page(text, n, parts, n_parts);
}

static PyObject *write_pages(struct rendering *rendering, struct leat_json_node root,
                             struct leat_error *err) {
    PyObject *pages = PyList_New(0);
    struct leat_json_iterator iterator;
    struct leat_json_node item;

    leat_json_iterate(root, &iterator);
    while (pages && leat_json_next(&iterator, &item)) {
        PyObject *page = leat_json_kind(item) == LEAT_JSON_OBJECT
                             ? write_page(rendering, item, err)
                             : leat_py_raise_text(
                                   -EINVAL, "the variables of each conversation must be an object");

        if (!page || PyList_Append(pages, page) < 0)
            Py_CLEAR(pages);
        Py_XDECREF(page);
    }
    return pages;
}

static PyObject *raise_error(const struct leat_error *err) {
    if (err->line > 0 && err->code != -ENOMEM)
        return leat_py_raise_text(err->code, "%s (line %u of the chat template)", err->message,
                                  err->line);
    return leat_py_raise(err);
}

static PyObject *render_chats(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"template", "variables", "year", "month", "day", NULL};
    struct leat_error err = LEAT_ERROR_INIT;
    struct rendering rendering = {.template = NULL};
    Py_buffer template, variables;
    PyObject *pages = NULL, *made = NULL;
    struct leat_json_node root;
    struct tm date = {.tm_hour = 12, .tm_isdst = -1};
    int r;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s*y*iii", names, &template, &variables,
                                     &date.tm_year, &date.tm_mon, &date.tm_mday))
        return NULL;
    date.tm_year -= 1900;
    date.tm_mon--;
    (void)mktime(&date); /* the day of the week */
    r = begin(&rendering, &template, &variables, &date, &root, &err);
    if (r == 0)
        pages = write_pages(&rendering, root, &err);
    if (pages)
        made = Py_BuildValue("(Ni)", pages, leat_jinja_template_marks(rendering.template));
    else if (!PyErr_Occurred())
        (void)raise_error(&err);
    PyBuffer_Release(&template);
    PyBuffer_Release(&variables);
    end(&rendering);
    return made;
}

static PyMethodDef functions[] = {
    {"render_chats", LEAT_PY_KEYWORDS(render_chats), NULL},
    {NULL, NULL, 0, NULL},
};

int leat_py_jinja_register(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
