/* test_foreign.c: parsers of foreign bytes: lists, heads of answers, profiles, credentials. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "daemon/fetch/answer.h"
#include "daemon/fetch/aws_profile.h"
#include "daemon/fetch/credentials.h"
#include "daemon/fetch/listing.h"

#define ITEM(key, etag, size)                                                                      \
    "<Contents><Key>" key "</Key><ETag>" etag "</ETag><Size>" size "</Size></Contents>"
#define PAGE(inner) "<ListBucketResult>" inner "</ListBucketResult>"

static void test_page(void **state) {
    static const char page[] =
        "<?xml version='1.0'?><ListBucketResult xmlns='http://x/'><IsTruncated>true</IsTruncated>"
        "<NextContinuationToken>t</NextContinuationToken>" ITEM("a&amp;b", "&quot;e&quot;", "0")
            ITEM("c", "&quot;f&quot;", "5000000000") "</ListBucketResult>";
    struct leat_listing listing;

    (void)state;
    assert_int_equal(leat_listing_parse(page, strlen(page), &listing, LEAT_ERROR_IGNORED), 0);
    assert_int_equal(listing.n_items, 2);
    assert_string_equal(listing.items[0].key, "a&b");
    assert_string_equal(listing.items[0].etag, "\"e\"");
    assert_int_equal(listing.items[1].n_bytes, 5000000000);
    assert_true(listing.is_truncated);
    assert_string_equal(listing.token, "t");
    leat_listing_deinit(&listing);
}

static void test_bad_pages(void **state) {
    static const char *const pages[] = {
        "",
        "no XML",
        "<html></html>",
        PAGE("<Contents>"),
        PAGE("<Contents><Key>a</Key></Contents>"),
        PAGE(ITEM("", "e", "1")),
        PAGE(ITEM("a", "e", "-1")),
        PAGE(ITEM("a", "e", "9999999999999999999")),
        PAGE(ITEM("a</Key><Key>b", "e", "1")),
        PAGE("<IsTruncated>true</IsTruncated>"),
        PAGE("<a><b><c><d><e><f><g><h><i/></h></g></f></e></d></c></b></a>"),
        "<!DOCTYPE x [<!ENTITY a 'aaaa'>]>" PAGE(ITEM("&a;", "e", "1")),
    };
    struct leat_listing listing;

    (void)state;
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        struct leat_error err = LEAT_ERROR_INIT;

        assert_int_equal(leat_listing_parse(pages[i], strlen(pages[i]), &listing, &err), -EBADMSG);
        assert_true(err.message[0] != '\0');
        leat_listing_deinit(&listing);
    }
}

static void take_lines(struct leat_answer *answer, const char *lines) {
    leat_answer_begin(answer);
    while (*lines) {
        size_t n = strcspn(lines, "\n");

        leat_answer_take(answer, lines, n);
        lines += n + (lines[n] == '\n');
    }
}

static void test_answer(void **state) {
    struct leat_answer answer;

    (void)state;
    take_lines(&answer, "ETag: \"e\"\r\ncontent-range: bytes 5-9/100\r\nContent-Length: 5\r\n");
    assert_string_equal(leat_answer_version(&answer), "\"e\"");
    assert_int_equal(answer.first, 5);
    assert_int_equal(answer.end, 10);
    assert_int_equal(answer.object_size, 100);
    assert_int_equal(answer.n_bytes, 5);
    take_lines(&answer, "Last-Modified: today\r\nRetry-After: 7\r\n");
    assert_string_equal(leat_answer_version(&answer), "today");
    assert_int_equal(answer.retry_after_s, 7);
    take_lines(&answer, "Content-Range: bytes 9-5/100\nContent-Length: 5x\nETag: a\x01z\n");
    assert_true(answer.first == LEAT_ANSWER_UNKNOWN && answer.n_bytes == LEAT_ANSWER_UNKNOWN);
    assert_string_equal(leat_answer_version(&answer), "");
    take_lines(&answer, "Content-Range: bytes 0-100/100\nContent-Range: bytes */100\n");
    assert_true(answer.first == LEAT_ANSWER_UNKNOWN);
}

static void test_profile(void **state) {
    static const char text[] = "# all\n[default]\naws_access_key_id = D\n\n[ profile  work ]\r\n"
                               "aws_access_key_id=W\r\ns3 =\n  region = nested\nregion = r\n"
                               "[work2]\nregion = other\n";
    char value[8];

    (void)state;
    assert_int_equal(
        leat_aws_profile_get(text, "default", "aws_access_key_id", value, sizeof(value)), 1);
    assert_string_equal(value, "D");
    assert_int_equal(leat_aws_profile_get(text, "work", "aws_access_key_id", value, sizeof(value)),
                     1);
    assert_string_equal(value, "W");
    assert_int_equal(leat_aws_profile_get(text, "work", "region", value, sizeof(value)), 1);
    assert_string_equal(value, "r");
    assert_int_equal(leat_aws_profile_get(text, "default", "region", value, sizeof(value)), 0);
    assert_int_equal(leat_aws_profile_get(text, "none", "region", value, sizeof(value)), 0);
    assert_int_equal(leat_aws_profile_get("[default]\na = 1234567\n", "default", "a", value, 8), 1);
    assert_int_equal(leat_aws_profile_get("[default]\na = 12345678\n", "default", "a", value, 8),
                     -E2BIG);
}

static int parse(const char *json, struct leat_credentials *credentials) {
    *credentials = (struct leat_credentials){.key = ""};
    return leat_credentials_parse(json, strlen(json), credentials, LEAT_ERROR_IGNORED);
}

static void test_credentials(void **state) {
    struct leat_credentials credentials;

    (void)state;
    assert_int_equal(parse("{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\",\"Token\":\"t\","
                           "\"Expiration\":\"1970-01-02T00:00:00Z\"}",
                           &credentials),
                     0);
    assert_string_equal(credentials.key, "k");
    assert_string_equal(credentials.token, "t");
    assert_int_equal(credentials.expires_at, 86400);
    assert_int_equal(parse("{\"AccessKeyId\":\"k\"}", &credentials), -EBADMSG);
    assert_int_equal(
        parse("{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\\r\\nX: y\"}", &credentials),
        -EBADMSG);
    assert_int_equal(parse("[]", &credentials), -EBADMSG);
    assert_int_equal(parse("", &credentials), -EBADMSG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page),        cmocka_unit_test(test_bad_pages),
        cmocka_unit_test(test_answer),      cmocka_unit_test(test_profile),
        cmocka_unit_test(test_credentials),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
