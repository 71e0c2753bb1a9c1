/* Where the HTTP listener may be, and which names of a Host are this machine's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>

#include "daemon/net/http_address.h"

static void test_right(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_http_address address;

    (void)state;
    assert_int_equal(leat_http_address_parse("127.0.0.1:9464", &address, &err), 0);
    assert_int_equal(address.ip.v4.sin_port, htons(9464));
    assert_int_equal(address.n_ip, sizeof(address.ip.v4));
    assert_int_equal(leat_http_address_parse("127.9.8.7:1", &address, &err), 0);
    assert_int_equal(leat_http_address_parse("localhost:65535", &address, &err), 0);
    assert_int_equal(address.ip.v4.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    assert_int_equal(leat_http_address_parse("[::1]:80", &address, &err), 0);
    assert_int_equal(address.ip.any.sa_family, AF_INET6);
    assert_null(address.path);
    assert_int_equal(leat_http_address_parse("unix:run/http.sock", &address, &err), 0);
    assert_string_equal(address.path, "run/http.sock");
}

static void test_wrong(void **state) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "write 127.0.0.1:PORT"},
        {"9464", "write 127.0.0.1:PORT"},
        {":9464", "write 127.0.0.1:PORT"},
        {"127.0.0.1", "write 127.0.0.1:PORT"},
        {"127.0.0.1:", "write 127.0.0.1:PORT"},
        {"127.0.0.1:0", "write 127.0.0.1:PORT"},
        {"127.0.0.1:65536", "write 127.0.0.1:PORT"},
        {"127.0.0.1:99999999999999999999", "write 127.0.0.1:PORT"},
        {"127.0.0.1:+80", "write 127.0.0.1:PORT"},
        {"127.0.0.1:80x", "write 127.0.0.1:PORT"},
        {"[::1]80", "write 127.0.0.1:PORT"},
        {"[::1", "write 127.0.0.1:PORT"},
        {"::1:80", "write 127.0.0.1:PORT"},
        {"example.org:80", "write 127.0.0.1:PORT"},
        {"0.0.0.0:80", "not a loopback address"},
        {"[::]:80", "not a loopback address"},
        {"10.0.0.1:80", "not a loopback address"},
        {"unix:", "needs a path"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_http_address address;

        assert_true(leat_http_address_parse(cases[i].text, &address, &err) < 0);
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s: %s", cases[i].text, err.message);
    }
}

static void test_host(void **state) {
    static const char *const local[] = {"127.0.0.1",      "127.0.0.1:9464", "localhost",
                                        "LocalHost:9464", "[::1]",          "[::1]:9464"};
    static const char *const foreign[] = {"",
                                          "example.org",
                                          "localhost.example.org:9464",
                                          "127.0.0.1.example.org",
                                          "[::2]",
                                          "127.0.0.1@example.org",
                                          "10.0.0.1:9464",
                                          "[::1].example.org",
                                          "[::1",
                                          "\xff\xff"};

    (void)state;
    assert_true(leat_http_host_is_local(NULL));
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
        assert_true(leat_http_host_is_local(local[i]));
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        assert_false(leat_http_host_is_local(foreign[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
