/* test_foreign.c: parsers of foreign bytes: lists, heads of answers, profiles, credentials. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
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
        PAGE(ITEM("a", "", "1")),
        PAGE(ITEM("a", "e", "")),
        PAGE(ITEM("a", "e", "1 000")),
        PAGE(ITEM("a", "e", "1</Size><Size>1")),
        PAGE(ITEM("a", "e</ETag><ETag>f", "1")),
        PAGE("<Contents><ETag>e</ETag><Size>1</Size></Contents>"),
        PAGE("<Contents><Key>a</Key><Size>1</Size></Contents>"),
        PAGE("<Contents><Key>a</Key><ETag>e</ETag></Contents>"),
        PAGE("<IsTruncated>true</IsTruncated><NextContinuationToken/>"),
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

/* What stores say besides is passed over. */
static void test_more_of_a_page(void **state) {
    static const char page[] =
        PAGE("<Name>b</Name><Key>x</Key><Size>y</Size><CommonPrefixes><Prefix>p/</Prefix>"
             "</CommonPrefixes><Contents><Key>a</Key><LastModified>z</LastModified><ETag>e</ETag>"
             "<Size>7</Size><Owner><ID>i</ID><Key>k</Key></Owner></Contents>"
             "<IsTruncated>false</IsTruncated>");
    struct leat_listing listing;
    struct leat_error err = LEAT_ERROR_INIT;
    char *large = malloc(LEAT_LISTING_BYTES_MAX + 1);

    (void)state;
    assert_int_equal(leat_listing_parse(page, strlen(page), &listing, &err), 0);
    assert_int_equal(listing.n_items, 1);
    assert_string_equal(listing.items[0].key, "a");
    assert_int_equal(listing.items[0].n_bytes, 7);
    assert_false(listing.is_truncated);
    leat_listing_deinit(&listing);
    assert_non_null(large);
    memset(large, ' ', LEAT_LISTING_BYTES_MAX + 1);
    memcpy(large, page, strlen(page));
    assert_int_equal(leat_listing_parse(large, LEAT_LISTING_BYTES_MAX, &listing, &err), 0);
    leat_listing_deinit(&listing);
    assert_int_equal(leat_listing_parse(large, LEAT_LISTING_BYTES_MAX + 1, &listing, &err),
                     -EBADMSG);
    leat_listing_deinit(&listing);
    free(large);
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

/* Lines of a head that are wrong in some way count as if they were not there. */
static void test_bad_lines(void **state) {
    static const char *const lines[] = {
        "Content-Range: items 10-19/30",
        "Content-Range: bytes x-19/30",
        "Content-Range: bytes 10x19/30",
        "Content-Range: bytes 10-x/30",
        "Content-Range: bytes 10-19x30",
        "Content-Range: bytes 10-19/*",
        "Content-Range: bytes 10-19/30x",
        "Content-Range: bytes 10-19/19",
        "Content-Range: bytes 10-9/30",
        "Content-Range: bytes 10-19/1000000000000000000",
        "Content-Length: 1234567890123456789",
        "Content-Length: ",
        "Content-Length: 10 10",
        "Content-Length 10",
        "Retry-After: -1",
        "X-Content-Length: 10",
        "ETag: a\177",
        "Last-Modified: a\tb",
        "",
        ":",
    };
    static const char nul[] = "ETag: a\0b";
    char line[4 * LEAT_ANSWER_TEXT_MAX];
    struct leat_answer answer, nothing;

    (void)state;
    leat_answer_begin(&nothing);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        leat_answer_begin(&answer);
        leat_answer_take(&answer, lines[i], strlen(lines[i]));
        if (memcmp(&answer, &nothing, sizeof(answer)) != 0)
            fail_msg("%s", lines[i]);
    }
    leat_answer_take(&answer, nul, sizeof(nul) - 1);
    memset(line, 'x', sizeof(line)); /* too long for a value, and for a line */
    memcpy(line, "ETag: ", 6);
    for (size_t n = LEAT_ANSWER_TEXT_MAX + 6; n <= sizeof(line); n += 11)
        leat_answer_take(&answer, line, n);
    assert_memory_equal(&answer, &nothing, sizeof(answer));
    leat_answer_take(&answer, line, LEAT_ANSWER_TEXT_MAX - 1 + 6);
    assert_int_equal(strlen(answer.etag), LEAT_ANSWER_TEXT_MAX - 1);
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
        cmocka_unit_test(test_page),        cmocka_unit_test(test_more_of_a_page),
        cmocka_unit_test(test_bad_lines),   cmocka_unit_test(test_bad_pages),
        cmocka_unit_test(test_answer),      cmocka_unit_test(test_profile),
        cmocka_unit_test(test_credentials),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
