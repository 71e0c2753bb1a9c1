// json.cc: json.h on simdjson's DOM (Langdale and Lemire 2019), the only C++ file of the tree.
//
// Only the noexcept forms of simdjson are used, so no exception can cross into C. A node is a
// simdjson element by its bytes (document, index on the tape); both are trivially copyable.
#include "pipeline/tokenizer/json.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include <simdjson.h>

using namespace simdjson;

struct leat_json {
    dom::parser parser;
    bool is_odd = false;
    leat_json() : parser(LEAT_JSON_BYTES_MAX) {
    }
};

// simdjson chooses its code for this processor when it is first used, and ends the process if it
// has no memory then: that happens when the program starts.
[[maybe_unused]] static const bool is_chosen = validate_utf8("", 0);

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

static int tell_fault(const struct leat_json_fault *fault, struct leat_error *err) {
    int r = leat_error_set(err, -EINVAL, "%s", fault->message);

    leat_error_locate(err, nullptr, fault->line, fault->column);
    return r;
}

static int tell(error_code error, const void *data, size_t n_bytes, struct leat_error *err) {
    struct leat_json_fault fault;

    if (error == MEMALLOC)
        return leat_error_oom(err);
    if (leat_json_locate(static_cast<const uint8_t *>(data), n_bytes, &fault))
        return tell_fault(&fault, err);
    return leat_error_set(err, -EINVAL, "is not valid JSON: %s", error_message(error));
}

static int too_long(size_t n_bytes, struct leat_error *err) {
    return leat_error_set(err, -E2BIG, "is %zu bytes of JSON, above the limit of %u", n_bytes,
                          LEAT_JSON_BYTES_MAX);
}

static error_code parse(struct leat_json *json, const void *data, size_t n_bytes, bool is_copied,
                        struct leat_json_node *ret_root) {
    dom::element root;
    error_code error = reserve(json->parser, n_bytes);

    if (!error)
        error =
            json->parser.parse(static_cast<const uint8_t *>(data), n_bytes, is_copied).get(root);
    if (!error)
        *ret_root = to_node(root);
    return error;
}

int leat_json_parse(struct leat_json *json, const void *data, size_t n_bytes, size_t n_readable,
                    struct leat_json_node *ret_root, struct leat_error *err) {
    static_assert(LEAT_JSON_PADDING >= SIMDJSON_PADDING, "padding");

    if (n_bytes > LEAT_JSON_BYTES_MAX)
        return too_long(n_bytes, err);
    error_code error =
        parse(json, data, n_bytes, n_readable - n_bytes < LEAT_JSON_PADDING, ret_root);
    return error ? tell(error, data, n_bytes, err) : 0;
}

// ---- oddities ----

// simdjson's tape has a word for each scalar, its type in the upper byte, and behind those of
// numbers the value. In the rest of the word strings have their place, numbers 0; with anything
// else there simdjson still knows their type, but gives no value.
static const unsigned type_shift = 56;
static const uint64_t minus_zero = (uint64_t{'l'} << type_shift) | 1;
static const uint64_t rounded = (uint64_t{'d'} << type_shift) | 1;
static const char half_string = 'h'; // no type of simdjson's, which passes over it as over strings

static void mark(uint64_t *word, const struct leat_json_odd *odd) {
    switch (odd->oddity) {
    case LEAT_JSON_WIDE_NUMBER:
    case LEAT_JSON_ROUNDED_NUMBER:
        word[0] = odd->oddity == LEAT_JSON_ROUNDED_NUMBER ? rounded : uint64_t{'d'} << type_shift;
        std::memcpy(&word[1], &odd->value, sizeof(odd->value));
        break;
    case LEAT_JSON_MINUS_ZERO:
        word[0] = minus_zero;
        break;
    case LEAT_JSON_HALF_PAIR:
        word[0] = (word[0] & ~(UINT64_MAX << type_shift)) | uint64_t{half_string} << type_shift;
        break;
    }
}

static void mark_all(dom::document &document, const struct leat_json_odds *odds) {
    uint64_t *tape = document.tape.get();
    size_t end = tape[0] & ~(UINT64_MAX << type_shift);
    uint32_t scalar = 0, n_marked = 0;

    for (size_t at = 1; at < end && n_marked < odds->n_items; at++) {
        char type = static_cast<char>(tape[at] >> type_shift);
        bool is_number = type == 'l' || type == 'u' || type == 'd';

        if (!is_number && type != '"' && type != half_string)
            continue;
        if (scalar++ == odds->items[n_marked].scalar)
            mark(&tape[at], &odds->items[n_marked++]);
        at += is_number;
    }
}

// A record that is not JSON, or has oddities.
static int parse_odd(struct leat_json *json, const void *data, size_t n_bytes,
                     struct leat_json_node *ret_root, struct leat_error *err) {
    auto bytes = static_cast<const uint8_t *>(data);
    auto copy = static_cast<uint8_t *>(std::malloc(n_bytes + LEAT_JSON_PADDING));
    struct leat_json_odds odds = {};
    struct leat_json_fault fault = {};
    error_code error = MEMALLOC;
    int r = 0;

    if (copy && n_bytes > 0)
        std::memcpy(copy, data, n_bytes);
    if (copy && leat_json_find_odds(bytes, n_bytes, copy, &odds, &fault))
        error = parse(json, copy, n_bytes, false, ret_root);
    if (copy && fault.message[0])
        r = tell_fault(&fault, err);
    else if (error)
        r = tell(error, data, n_bytes, err);
    else
        mark_all(json->parser.doc, &odds);
    std::free(odds.items);
    std::free(copy);
    return r;
}

int leat_json_parse_record(struct leat_json *json, const void *data, size_t n_bytes,
                           size_t n_readable, struct leat_json_node *ret_root,
                           struct leat_error *err) {
    if (n_bytes > LEAT_JSON_BYTES_MAX)
        return too_long(n_bytes, err);
    error_code error =
        parse(json, data, n_bytes, n_readable - n_bytes < LEAT_JSON_PADDING, ret_root);
    json->is_odd = error;
    if (error == MEMALLOC)
        return leat_error_oom(err);
    return error ? parse_odd(json, data, n_bytes, ret_root, err) : 0;
}

bool leat_json_is_odd(const struct leat_json *json) {
    return json->is_odd;
}

int leat_json_mark_zeros(struct leat_json *json, const void *data, size_t n_bytes) {
    auto bytes = static_cast<const uint8_t *>(data);
    struct leat_json_odds odds = {};
    struct leat_json_fault fault;
    bool is_good = leat_json_find_odds(bytes, n_bytes, nullptr, &odds, &fault);

    if (is_good)
        mark_all(json->parser.doc, &odds);
    std::free(odds.items);
    return is_good ? 0 : -ENOMEM;
}

static uint64_t word_of(struct leat_json_node node) {
    return static_cast<const dom::document *>(node.document)->tape[node.index];
}

bool leat_json_is_rounded(struct leat_json_node node) {
    return word_of(node) == rounded;
}

bool leat_json_is_minus_zero(struct leat_json_node node) {
    return word_of(node) == minus_zero;
}

bool leat_json_may_have_minus_zero(const void *data, size_t n_bytes) {
    const size_t n_at_once = 4096;
    auto at = static_cast<const uint8_t *>(data);
    uint8_t found = 0;

    for (size_t n_left = n_bytes > 2 ? n_bytes - 2 : 0, n; n_left > 0 && !found; n_left -= n) {
        n = n_left < n_at_once ? n_left : n_at_once;
        for (size_t i = 0; i < n; i++)
            found |= (at[i] == '-') & (at[i + 1] == '0') & (at[i + 2] != '.') &
                     (static_cast<uint8_t>(at[i + 2] - '0') > 9);
        at += n;
    }
    return found;
}

// ----

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
    case dom::element_type::NULL_VALUE:
        return LEAT_JSON_NULL;
    default:
        return LEAT_JSON_HALF_STRING;
    }
}

const char *leat_json_kind_name(enum leat_json_kind kind) {
    static const char *const names[] = {
        "null",
        "a boolean",
        "an integer",
        "an integer",
        "a number",
        "a string",
        "an array",
        "an object",
        "a string with an unpaired surrogate (\\ud800 to \\udfff)"};

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
    return word_of(node) == rounded ? to_cursor<internal::tape_ref>(node).next_tape_value<double>()
                                    : value_of<double>(node);
}

const char *leat_json_string(struct leat_json_node node, size_t *ret_n_bytes) {
    std::string_view text = leat_json_kind(node) == LEAT_JSON_HALF_STRING
                                ? to_cursor<internal::tape_ref>(node).get_string_view()
                                : value_of<std::string_view>(node);

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
