/* URLs of objects: which are taken, what is asked of servers for them, and which hosts are this
 * machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fetch/object_url.h"

static const struct leat_store aws = {.endpoint = NULL, .region = "eu-west-1"};
static const struct leat_store minio = {.endpoint = "http://minio:9000", .region = "us-east-1"};

static void check_asked(const char *given, const struct leat_store *store, const char *expected) {
    struct leat_text text = {.data = NULL};
    struct leat_object_url url;

    assert_int_equal(leat_object_url_parse(given, &url, LEAT_ERROR_IGNORED), 0);
    leat_object_url_add(&text, &url, store);
    assert_string_equal(text.data, expected);
    free(text.data);
}

static void test_asked(void **state) {
    (void)state;
    check_asked("s3://data/web/a b+c=d.jsonl", &aws,
                "https://data.s3.eu-west-1.amazonaws.com/web/a%20b%2Bc%3Dd.jsonl");
    check_asked("s3://my.data/a%20b", &aws, "https://s3.eu-west-1.amazonaws.com/my.data/a%2520b");
    check_asked("s3://data/\xc3\xbc~", &minio, "http://minio:9000/data/%C3%BC~");
    check_asked("https://h:8443/a%20b c", &aws, "https://h:8443/a%20b%20c");
    check_asked("http://h/a.csv", &aws, "http://h/a.csv");
}

static void test_list(void **state) {
    struct leat_text text = {.data = NULL};
    struct leat_object_url url;

    (void)state;
    assert_int_equal(leat_object_url_parse("s3://data/web/a&b", &url, LEAT_ERROR_IGNORED), 0);
    leat_object_url_add_list(&text, &url, &minio, "t/1=");
    assert_string_equal(text.data, "http://minio:9000/data/"
                                   "?continuation-token=t%2F1%3D&list-type=2&prefix=web%2Fa%26b");
    free(text.data);
}

static void test_refused(void **state) {
    static const char *const urls[] = {
        "",
        "s3:/b/x",
        "gs://b/x",
        "s3://b",
        "s3:///x",
        "s3://b@c/x",
        "s3://b:1/x",
        "https://u:p@h/x",
        "https://h",
        "https:///x",
        "https://h:123456/x",
        "https://h:/x",
        "https://h/x?a=b",
        "https://h/x#a",
        "https://h/a\\b",
        "https://h/a\nb",
        "https://h/../x",
        "https://h/a/.",
        "https://h/a/%2e%2E/b",
        "s3://b/a/../b",
        "https://[::1]/x",
        "https://-h/x",
        "http://h h/x",
    };
    struct leat_object_url url;

    (void)state;
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
        assert_int_equal(leat_object_url_parse(urls[i], &url, LEAT_ERROR_IGNORED), -EINVAL);
    assert_int_equal(leat_object_url_parse("https://h/..a/b../...", &url, LEAT_ERROR_IGNORED), 0);
}

static void test_local(void **state) {
    static const char *const local[] = {
        "localhost",  "LOCALHOST:80", "a.localhost",     "127.0.0.1", "127.1",
        "2130706433", "0x7f.1:8080",  "0.0.0.0",         "0",         "169.254.169.254",
        "::1",        "fe80::1",      "::ffff:127.0.0.1"};
    static const char *const others[] = {"example.org", "10.0.0.1:80", "8.8.8.8", "2001:db8::1",
                                         "localhost.example.org"};

    (void)state;
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
        assert_true(leat_host_is_local(local[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(leat_host_is_local(others[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asked),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_local),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
