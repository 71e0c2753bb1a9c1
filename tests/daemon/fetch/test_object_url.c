/* URLs of objects: which are taken, what is asked of servers for them, and which hosts are this
 * machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

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
        "https://.h/x",
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

static void test_local_addresses(void **state) {
    static const struct {
        const char *address;
        bool is_local;
    } rows[] = {
        {"127.0.0.1", true},
        {"127.255.255.254", true},
        {"0.0.0.0", true},
        {"0.1.2.3", true},
        {"169.254.169.254", true},
        {"169.255.0.1", false},
        {"10.0.0.1", false},
        {"128.0.0.1", false},
        {"::1", true},
        {"::", true},
        {"fe80::1", true},
        {"febf::1", true},
        {"fec0::1", false},
        {"fd00::1", false},
        {"2001:db8::1", false},
        {"::ffff:127.0.0.1", true},
        {"::ffff:169.254.1.1", true},
        {"::ffff:8.8.8.8", false},
        {"::127.0.0.1", true},
        {"::8.8.8.8", false},
        {"0:0:0:1::1", false},
        {"0:0:1::127.0.0.1", false},
        {"0:1::1", false},
        {"1::", false},
    };
    struct sockaddr_un other = {.sun_family = AF_UNIX};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sockaddr_in v4 = {.sin_family = AF_INET};
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
        bool is_v4 = inet_pton(AF_INET, rows[i].address, &v4.sin_addr) == 1, is_local;

        assert_true(is_v4 || inet_pton(AF_INET6, rows[i].address, &v6.sin6_addr) == 1);
        is_local = is_v4 ? leat_address_is_local((const struct sockaddr *)&v4)
                         : leat_address_is_local((const struct sockaddr *)&v6);
        if (is_local != rows[i].is_local)
            fail_msg("%s", rows[i].address);
    }
    assert_true(leat_address_is_local((const struct sockaddr *)&other));
}

/* Names of hosts as long as they may be, and longer. */
static void test_long_hosts(void **state) {
    char name[400];
    struct leat_object_url url;

    (void)state;
    for (int n = LEAT_BUCKET_MAX - 2; n <= LEAT_BUCKET_MAX + 2; n++) {
        (void)snprintf(name, sizeof(name), "https://%0*d/x", n, 7);
        assert_int_equal(leat_object_url_parse(name, &url, LEAT_ERROR_IGNORED),
                         n <= LEAT_BUCKET_MAX ? 0 : -EINVAL);
        (void)snprintf(name, sizeof(name), "%0*dx", n, 7);
        assert_int_equal(leat_host_is_local(name), n >= LEAT_BUCKET_MAX);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asked),           cmocka_unit_test(test_list),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_local),
        cmocka_unit_test(test_local_addresses), cmocka_unit_test(test_long_hosts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
