// json.cc: json.h on simdjson's DOM (Langdale and Lemire 2019), the only C++ file of the tree.
//
// Only the noexcept forms of simdjson are used, so no exception can cross into C. A node is a
// simdjson element by its bytes (document, index on the tape); both are trivially copyable.
#include "pipeline/tokenizer/json.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <type_traits>

#include <simdjson.h>

#include "pipeline/tokenizer/json_locate.h"

using namespace simdjson;

struct leat_json {
    dom::parser parser;
    leat_json() : parser(LEAT_JSON_BYTES_MAX) {
    }
};

// A node's bytes as one of simdjson's cursors, and back.
template <typename T> static T to_cursor(struct leat_json_node node) {
    static_assert(sizeof(T) == sizeof(node) && std::is_trivially_copyable<T>::value, "cursor");
    T cursor;
    std::memcpy(static_cast<void *>(&cursor), &node, sizeof(node));
    return cursor;
}

template <typename T> static struct leat_json_node to_node(const T &cursor) {
    static_assert(sizeof(T) == sizeof(struct leat_json_node), "cursor");
    struct leat_json_node node;
    std::memcpy(&node, static_cast<const void *>(&cursor), sizeof(node));
    return node;
}

// The node's value, or T() if it is of another kind.
template <typename T> static T value_of(struct leat_json_node node) {
    T value{};
    return to_cursor<dom::element>(node).get(value) ? T{} : value;
}

int leat_json_new(size_t capacity_bytes, struct leat_json **ret_json) {
    struct leat_json *json = new (std::nothrow) leat_json();

    if (!json)
        return -ENOMEM;
    if (capacity_bytes < 1024)
        capacity_bytes = 1024;
    if (json->parser.allocate(capacity_bytes, LEAT_JSON_DEPTH_MAX) ||
        json->parser.doc.allocate(capacity_bytes)) {
        delete json;
        return -ENOMEM;
    }
    *ret_json = json;
    return 0;
}

struct leat_json *leat_json_free(struct leat_json *json) {
    delete json;
    return nullptr;
}

// Grows by doubling: simdjson itself would grow to just what this document needs.
static error_code reserve(dom::parser &parser, size_t n_bytes) {
    size_t capacity = parser.capacity();

    if (n_bytes <= capacity)
        return SUCCESS;
    capacity = n_bytes > 2 * capacity ? n_bytes : 2 * capacity;
    error_code error = parser.allocate(capacity, LEAT_JSON_DEPTH_MAX);
    return error ? error : parser.doc.allocate(capacity);
}

static int tell(error_code error, const void *data, size_t n_bytes, struct leat_error *err) {
    struct leat_json_fault fault;
    int r;

    if (error == MEMALLOC)
        return leat_error_oom(err);
    if (leat_json_locate(static_cast<const uint8_t *>(data), n_bytes, &fault)) {
        r = leat_error_set(err, -EINVAL, "%s", fault.message);
        leat_error_locate(err, nullptr, fault.line, fault.column);
        return r;
    }
    return leat_error_set(err, -EINVAL, "is not valid JSON: %s", error_message(error));
}

int leat_json_parse(struct leat_json *json, const void *data, size_t n_bytes, size_t n_readable,
                    struct leat_json_node *ret_root, struct leat_error *err) {
    static_assert(LEAT_JSON_PADDING >= SIMDJSON_PADDING, "padding");
    bool is_copied = n_readable - n_bytes < LEAT_JSON_PADDING;
    dom::element root;

    if (n_bytes > LEAT_JSON_BYTES_MAX)
        return leat_error_set(err, -E2BIG, "is %zu bytes of JSON, above the limit of %u", n_bytes,
                              LEAT_JSON_BYTES_MAX);
    error_code error = reserve(json->parser, n_bytes);
    if (!error)
        error =
            json->parser.parse(static_cast<const uint8_t *>(data), n_bytes, is_copied).get(root);
    if (error)
        return tell(error, data, n_bytes, err);
    *ret_root = to_node(root);
    return 0;
}

enum leat_json_kind leat_json_kind(struct leat_json_node node) {
    switch (to_cursor<dom::element>(node).type()) {
    case dom::element_type::BOOL:
        return LEAT_JSON_BOOL;
    case dom::element_type::INT64:
        return LEAT_JSON_INT;
    case dom::element_type::UINT64:
        return LEAT_JSON_UINT;
    case dom::element_type::DOUBLE:
        return LEAT_JSON_DOUBLE;
    case dom::element_type::STRING:
        return LEAT_JSON_STRING;
    case dom::element_type::ARRAY:
        return LEAT_JSON_ARRAY;
    case dom::element_type::OBJECT:
        return LEAT_JSON_OBJECT;
    default:
        return LEAT_JSON_NULL;
    }
}

const char *leat_json_kind_name(enum leat_json_kind kind) {
    static const char *const names[] = {"null",     "a boolean", "an integer", "an integer",
                                        "a number", "a string",  "an array",   "an object"};

    return names[kind];
}

bool leat_json_bool(struct leat_json_node node) {
    return value_of<bool>(node);
}

int64_t leat_json_int(struct leat_json_node node) {
    return value_of<int64_t>(node);
}

uint64_t leat_json_uint(struct leat_json_node node) {
    return value_of<uint64_t>(node);
}

bool leat_json_is_utf8(const void *data, size_t n_bytes) {
    return n_bytes == 0 || simdjson::validate_utf8(static_cast<const char *>(data), n_bytes);
}

double leat_json_double(struct leat_json_node node) {
    return value_of<double>(node);
}

const char *leat_json_string(struct leat_json_node node, size_t *ret_n_bytes) {
    std::string_view text = value_of<std::string_view>(node);

    *ret_n_bytes = text.size();
    return text.data();
}

size_t leat_json_n_items(struct leat_json_node node) {
    const size_t saturated = 0xFFFFFF; // what simdjson's count stops at
    struct leat_json_iterator iterator;
    struct leat_json_node item;
    const char *key;
    size_t n_key, n = 0;

    enum leat_json_kind kind = leat_json_kind(node);
    if (kind == LEAT_JSON_OBJECT)
        n = value_of<dom::object>(node).size();
    else if (kind == LEAT_JSON_ARRAY)
        n = value_of<dom::array>(node).size();
    if (n < saturated)
        return n;
    n = 0;
    leat_json_iterate(node, &iterator);
    while (leat_json_next(&iterator, &item) ||
           leat_json_next_member(&iterator, &key, &n_key, &item))
        n++;
    return n;
}

void leat_json_iterate(struct leat_json_node node, struct leat_json_iterator *ret_iterator) {
    dom::element element = to_cursor<dom::element>(node);
    dom::object object;
    dom::array array;

    *ret_iterator = leat_json_iterator{node, node, false};
    if (!element.get(object)) {
        ret_iterator->at = to_node(object.begin());
        ret_iterator->end = to_node(object.end());
        ret_iterator->is_object = true;
    } else if (!element.get(array)) {
        ret_iterator->at = to_node(array.begin());
        ret_iterator->end = to_node(array.end());
    }
}

bool leat_json_next(struct leat_json_iterator *iterator, struct leat_json_node *ret_item) {
    if (iterator->at.index == iterator->end.index || iterator->is_object)
        return false;
    auto at = to_cursor<dom::array::iterator>(iterator->at);
    *ret_item = to_node(*at);
    iterator->at = to_node(++at);
    return true;
}

bool leat_json_next_member(struct leat_json_iterator *iterator, const char **ret_key,
                           size_t *ret_n_key, struct leat_json_node *ret_value) {
    if (iterator->at.index == iterator->end.index || !iterator->is_object)
        return false;
    auto at = to_cursor<dom::object::iterator>(iterator->at);
    std::string_view key = at.key();
    *ret_key = key.data();
    *ret_n_key = key.size();
    *ret_value = to_node(at.value());
    iterator->at = to_node(++at);
    return true;
}

bool leat_json_find(struct leat_json_node object, const char *key, size_t n_key,
                    struct leat_json_node *ret_value) {
    struct leat_json_iterator iterator;
    struct leat_json_node value;
    const char *name;
    size_t n_name;
    bool is_found = false;

    leat_json_iterate(object, &iterator);
    while (leat_json_next_member(&iterator, &name, &n_name, &value))
        if (n_name == n_key && std::memcmp(name, key, n_key) == 0) {
            *ret_value = value;
            is_found = true;
        }
    return is_found;
}
