/* test_jsonl.c: pipeline/sources/jsonl.c and shared_jsonl_fields.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/rng.h"
#include "tests/pipeline/shared_source.h"
#include "tests/pipeline/shared_source_cases.h"

static void infers(void **state) {
    static const struct source_case cases[] = {
        {"", "\xef\xbb\xbf{\"s\":\"a\\n\\u00e9\",\"i\":-1,\"d\":2.5,\"b\":true}\r\n\n",
         "s:text i:int64 d:float64 b:bool", "s=a\n\xc3\xa9|i=-1|d=2.5|b=true\n"},
        {"", "{\"m\":{\"a\":1,\"n\":{\"b\":\"x\"}},\"v\":[1,2],\"w\":[0.5,1],\"e\":[]}",
         "m.a:int64 m.n.b:text v:list<int64> w:list<float64> e:list<int64>",
         "m.a=1|m.n.b=x|v=1 2|w=0.5 1.0|e=\n"},
        {"", "{\"a\":1}\n{\"a\":2.5}\n{\"a\":null,\"b\":\"x\"}\n", "a:float64 b:text",
         "a=1.0|b=\na=2.5|b=\n! 3:0 a: the value is missing or null; to replace it with 0, "
         "set missing: {a: 0}\n"},
        {"", "{\"a\":null,\"t\":[\"x\"],\"o\":[{}],\"n\":[[1]],\"x\":null}\n{\"a\":{\"b\":1}}\n",
         "x:text a.b:int64",
         "! 1:0 a.b: the value is missing or null; to replace it with 0, set missing: {a.b: "
         "0}\nx=|a.b=1\n"},
        {"", "{\"a\":[]}\n{\"a\":[1.5]}\n{\"a\":[true]}\n", NULL,
         "in:3: field \"a\" is an array of other values here, but float64[] in an earlier record"},
        {"", "{\"a\":1}\n\n{\"a\":\"x\"}\n", NULL,
         "in:3: field \"a\" is a string here, but int64 in an earlier record"},
        {"", "{\"a\":{\"b\":1}}\n{\"a\":1}\n", NULL, "in:2: field \"a\" is an integer here"},
        {"", "{\"a\":1}\n{\"a\":{}}\n", NULL, "field \"a\" is an object here, but int64"},
        {"", "{\"a\":1}\n{\"a\":[1]}\n", NULL, "field \"a\" is an array here"},
        {"", "{\"a.b\":1,\"a\":{\"b\":2}}\n", NULL, "two fields have the name \"a.b\""},
        {"", "", NULL, "in: the file is empty"},
        {"", "\n{]\n[1]\n", NULL, "in:2:2: expected a key in double quotes, found ']'"},
        {"", "{]\n{\"a\":1}\n", "a:int64",
         "! 1:2 : the record is not valid JSON: expected a key in double quotes, found ']'\na=1\n"},
        {"missing: {a: -3, s: none}", "{\"a\":1}\n{\"s\":\"x\"}\n{\"a\":null,\"s\":null}",
         "a:int64 s:text", "a=1|s=none\na=-3|s=x\na=-3|s=none\n"},
        {"missing: {b: 1}", "{\"a\":1}\n", NULL, "there is no field \"b\""},
        {"missing: {a: x}", "{\"a\":1}\n", NULL, "\"a\": \"x\" is not a value of type int64"},
        {"missing: {a: x}", "{\"a\":[1]}\n", NULL, "\"a\" is a list"},
    };

    (void)state;
    check_source_cases("jsonl", cases, sizeof(cases) / sizeof(*cases));
}

static void declared(void **state) {
    static const struct source_case cases[] = {
        {"fields: {l: \"m.lang text\", m.stars: uint8, v: list<float32>, y: float16}",
         "{\"y\":1,\"v\":[1,2.5],\"m\":{\"stars\":4,\"lang\":\"en\"},\"z\":{}}\n"
         "{\"m\":{\"stars\":4.0},\"y\":18446744073709551615}\n",
         "l:text m.stars:uint8 v:list<float32> y:float16",
         "l=en|m.stars=4|v=1.0 2.5|y=1.0\nl=|m.stars=4|v=|y=inf\n"},
        {"fields: {a: uint8}",
         "{\"a\":256}\n{\"a\":-1}\n{\"a\":1.5}\n{\"a\":true}\n{\"a\":\"1\"}\n{\"a\":[1]}\n{\"a\":"
         "1}",
         "a:uint8",
         "! 1:0 a: 256 does not fit in uint8\n! 2:0 a: -1 does not fit in uint8\n! 3:0 a: 1.5 does "
         "not fit in uint8\n! 4:0 a: the value is a boolean, not uint8\n! 5:0 a: the value is a "
         "string, not uint8\n! 6:0 a: the value is an array, not uint8\na=1\n"},
        {"fields: {a: list<int32>, t: text}",
         "{\"a\":[1,2],\"t\":\"x\"}\n{\"a\":[1,\"2\"]}\n{\"a\":[3000000000]}\n{\"a\":3}\n"
         "{\"t\":4}\n{\"a\":[9],\"t\":null}\n",
         "a:list<int32> t:text",
         "a=1 2|t=x\n! 2:0 a: item 1 is a string, but the field is int32[]\n! 3:0 a: 3000000000 "
         "does not fit in int32\n! 4:0 a: the value is an integer, not int32[]\n! 5:0 t: the value "
         "is an integer, not text\na=9|t=\n"},
        {"fields: {x: float64}",
         "{\"x\":9007199254740992}\n{\"x\":9007199254740993}\n{\"x\":18446744073709551615}\n"
         "{\"x\":9223372036854775808}\n",
         "x:float64",
         "x=9007199254740992.0\n! 2:0 x: 9007199254740993 does not fit in float64\n"
         "! 3:0 x: 18446744073709551615 does not fit in float64\nx=9.223372036854776e+18\n"},
        {"fields: {v: \"float32[2]\", w: \"int32[<=2]\", x: \"m.x int64[]\"}",
         "{\"v\":[1,2],\"w\":[1],\"m\":{\"x\":[3]}}\n{\"v\":[1]}\n{\"v\":[1,2],\"w\":[1,2,3]}\n{}"
         "\n",
         "v:list<float32> w:list<int32> x:list<int64>",
         "v=1.0 2.0|w=1|x=3\n! 2:0 v: the list has 1 items, but 2 were expected\n! 3:0 w: the list "
         "has 3 items; at most 2 are possible\n! 4:0 v: the list has 0 items, but 2 were "
         "expected\n"},
        {"fields: {b: bool, l: list<bool>}", "{\"b\":false,\"l\":[true,false]}\n{\"b\":0}\n",
         "b:bool l:list<bool>",
         "b=false|l=true false\n! 2:0 b: the value is an integer, not bool\n"},
        /* the last of equal keys, whole */
        {"fields: {a: int64, m.x: text, m.y: text}",
         "{\"a\":1,\"m\":{\"x\":\"1\",\"y\":\"2\"},\"m\":{\"y\":\"3\"},\"a\":2}\n"
         "{\"a\":5,\"m\":{\"x\":\"4\"},\"m\":7}\n",
         "a:int64 m.x:text m.y:text", "a=2|m.x=|m.y=3\na=5|m.x=|m.y=\n"},
        {"fields: {x: \"a\\\\.b int64\", y: \"a.b int64\"}", "{\"a.b\":1,\"a\":{\"b\":2}}\n",
         "x:int64 y:int64", "x=1|y=2\n"},
        {"fields: {a: text, b: \"a.b text\"}", "{\"a\":\"x\"}\n", "a:text b:text", "a=x|b=\n"},
        {"fields: {a: text}", "{\"a\":\"x\\u0000y\"} x\n[1]\n5\n\"a\"\n", "a:text",
         "! 1:18 : the record is not valid JSON: expected the end of the document, found 'x'\n! "
         "2:1 : the record is an array, not an object\n! 3:1 : the record is an integer, not an "
         "object\n! 4:1 : the record is a string, not an object\n"},
        {"fields: {a: text}", "", "a:text", ""},
        {"fields: {a: text}, missing: {a: \"\"}", "{}\n", "a:text", "a=\n"},
        {"fields: {a: bool, b: float32}, missing: {a: true, b: 2}", "{}\n", "a:bool b:float32",
         "a=true|b=2.0\n"},
        {"fields: {a: string}", "", NULL, "field \"a\": \"string\" is not a type"},
        {"fields: {a: list<text>}", "", NULL, "\"list<text>\" is not a type"},
        {"fields: {a: \"b..c text\"}", "", NULL, "the path must have 1 to 32 keys"},
        {"fields: {a: \"c text\", b: \"c int64\"}", "", NULL, "have the same path"},
        {"fields: {a: int64}, missing: {b: 1}", "", NULL, "there is no field \"b\""},
        {"fields: {a: uint8}, missing: {a: 256}", "", NULL,
         "\"a\": \"256\" is not a value of type uint8"},
    };

    (void)state;
    check_source_cases("jsonl", cases, sizeof(cases) / sizeof(*cases));
}

#define WIDE  "123456789012345678901234567890"
#define EXACT "1180591620717411303424" /* 2^70 */

/* What no column holds is an error of the field that wants it, and of no other. */
static void odd_values(void **state) {
    static const struct source_case cases[] = {
        {"fields: {a: int64}",
         "{\"a\":1,\"b\":" WIDE ",\"c\":[-1e999,{\"d\":\"\\udc00\"}],\"\\ud800\":\"x\"}\n"
         "{\"b\":\"\\ud800\\ud800\\udc00\\udfff\",\"a\":2,\"c\":-9223372036854775809}\n"
         "{\"b\":1e999,\"a\":3,\"c\":tru}\n",
         "a:int64",
         "a=1\na=2\n! 3:22 : the record is not valid JSON: expected a value, found 't'\n"},
        {"fields: {a: float64, b: float32, l: list<float64>}",
         "{\"a\":" EXACT ",\"b\":" WIDE ",\"l\":[1,-" EXACT ",18446744073709551616]}\n"
         "{\"a\":1e999,\"b\":1}\n{\"a\":1,\"b\":1,\"l\":[2, -1e400]}\n{\"a\":1,\"b\":" WIDE WIDE
         "}\n"
         "{\"a\":" WIDE ",\"b\":1}\n{\"a\":1,\"b\":1,\"l\":[-9223372036854775809]}\n",
         "a:float64 b:float32 l:list<float64>",
         "a=1.1805916207174113e+21|b=1.2345678918272927e+29|"
         "l=1.0 -1.1805916207174113e+21 1.8446744073709552e+19\n"
         "! 2:6 a: 1e999 does not fit in float64\n! 3:22 l: -1e400 does not fit in float64\n"
         "a=1.0|b=inf|l=\n! 5:6 a: " WIDE " does not fit in float64\n"
         "! 6:19 l: -9223372036854775809 does not fit in float64\n"},
        {"fields: {a: int64, l: list<uint8>}",
         "{\"a\":" WIDE "}\n{\"a\":1,\"l\":[1," WIDE "]}\n{\"a\":1,\"l\":[1," WIDE WIDE "]}\n",
         "a:int64 l:list<uint8>",
         "! 1:6 a: " WIDE " does not fit in int64\n! 2:15 l: " WIDE " does not fit in uint8\n"
         "! 3:15 l: " WIDE "1234567... does not fit in uint8\n"},
        {"fields: {t: text, a: int64}",
         "{\"a\":1,\"t\":\"x\\ud83d\\ude00\"}\n{\"a\":\"\\ud800\",\"t\":\"\"}\n"
         "{\"a\":1,\"t\":\"x\\ud800y\"}\n",
         "t:text a:int64",
         "t=x\xf0\x9f\x98\x80|a=1\n! 2:0 a: the value is a string with an unpaired surrogate "
         "(\\ud800 to \\udfff), not int64\n! 3:14 t: an unpaired surrogate (\\ud800 to \\udfff): "
         "to read U+FFFD instead, set `invalid_utf8: replace`\n"},
        {"fields: {t: text, j: json}, invalid_utf8: replace",
         "{\"t\":\"x\\ud800y\\udc00\",\"j\":{\"\\ud800\":[1e999,\"\\ud83d\\ude00\\udfff\"]}}\n",
         "t:text j:text",
         "t=x\xef\xbf\xbdy\xef\xbf\xbd|j={\"\\ufffd\":[1e999,\"\\ud83d\\ude00\\ufffd\"]}\n"},
        {"fields: {j: json, k: \"o.k json\"}",
         "{\"j\":[1e999, \"\\ud800\"],\"o\":{\"\\udc00\":" WIDE ",\"k\":" WIDE "}}\n",
         "j:text k:text", "j=[1e999, \"\\ud800\"]|k=" WIDE "\n"},
        /* no key of a path */
        {"fields: {\"a\\ufffd\": text}", "{\"a\\ufffd\":\"y\",\"a\\ud800\":\"x\"}\n",
         "a\xef\xbf\xbd:text", "a\xef\xbf\xbd=y\n"},
        {"", "{\"a\":1,\"t\":\"x\\ud800\"}\n{\"a\":" EXACT ",\"t\":\"y\"}\n", "a:float64 t:text",
         "! 1:14 t: an unpaired surrogate (\\ud800 to \\udfff): to read U+FFFD instead, set "
         "`invalid_utf8: replace`\na=1.1805916207174113e+21|t=y\n"},
    };

    (void)state;
    check_source_cases("jsonl", cases, sizeof(cases) / sizeof(*cases));
}

static void zeros_keep_their_sign(void **state) {
    static const struct source_case cases[] = {
        {"fields: {a: float32, b: float64, l: list<float16>, i: int64, j: json}",
         "{\"a\":-0,\"b\":0,\"l\":[0,-0,-0.0,1,-0 ,-0e1],\"i\":-0,\"j\":-0}\n"
         "{\"a\":0,\"b\":-0,\"i\":0,\"x\":\"-0\",\"y\":1e999}\n{\"a\":-0.0,\"b\":-0,\"i\":1e0}\n",
         "a:float32 b:float64 l:list<float16> i:int64 j:text",
         "a=-0.0|b=0.0|l=0.0 -0.0 -0.0 1.0 -0.0 -0.0|i=0|j=-0\n"
         "a=0.0|b=-0.0|l=|i=0|j=\na=-0.0|b=-0.0|l=|i=1|j=\n"},
        {"", "{\"a\":-0,\"l\":[-0, 1.5]}\n", "a:int64 l:list<float64>", "a=0|l=-0.0 1.5\n"},
        {"fields: {a: float32}, missing: {a: -0}", "{}\n", "a:float32", "a=-0.0\n"},
    };

    (void)state;
    check_source_cases("jsonl", cases, sizeof(cases) / sizeof(*cases));
}

static void infers_from_whole_records(void **state) {
    static const char line[] = "{\"a\":1}\n", rest[] = "{\"b\":";
    char text[101 * sizeof(line)] = "";
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text schema = {.data = NULL};
    struct source source;

    (void)state;
    assert_int_equal(source_init(&source, "jsonl", "{ paths: in }", &err), 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(source_probe(&source, text, strlen(text), false, &err), -EAGAIN);
        strcat(text, line);
    }
    strcat(text, rest);
    assert_int_equal(source_probe(&source, text, strlen(text), false, &err), 0);
    source_schema(&source, &schema);
    assert_string_equal(schema.data, "a:int64");
    free(schema.data);
    source_deinit(&source);
}

static void check_shortened(const char *args, const char *text, const char *wanted) {
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n_bytes = strlen(text);
    struct source source;
    uint8_t *head;

    assert_int_equal(source_init(&source, "jsonl", args, &err), 0);
    assert_int_equal(source_probe(&source, text, n_bytes, false, &err), 0);
    head = source_shorten(&source, "jsonl", args, text, &n_bytes, false);
    assert_int_equal(n_bytes, strlen(wanted));
    assert_memory_equal(head, wanted, n_bytes);
    free(head);
    source_deinit(&source);
}

/* A set keeps the records that tell something of the fields, of those in which they are found. */
static void shortens_head(void **state) {
    char text[8192] = "\xef\xbb\xbf{\"a\":null}\r\n\n{]\n";

    (void)state;
    for (int i = 0; i < 40; i++)
        strcat(text, "{\"a\":1}\r\n");
    strcat(text,
           "{\"a\":1.5,\"t\":[\"x\"],\"m\":null}\n{\"a\":2,\"t\":[]}\n{\"m\":{\"b\":\"\"}}\n");
    for (int i = 0; i < 56; i++)
        strcat(text, "{\"m\":{\"b\":\"y\"}}\n");
    strcat(text, "{\"late\":1}\n{\"a\":");
    check_shortened("{ paths: in }", text,
                    "{\"a\":null}\r\n{\"a\":1}\r\n{\"a\":1.5,\"t\":[\"x\"],\"m\":null}\n"
                    "{\"m\":{\"b\":\"\"}}\n");
    check_shortened("{ paths: in, fields: {a: int64} }", text, "");
}

/* Members in any order, more than are wanted, long values: what was written comes back. */
static void what_is_written_comes_back(void **state) {
    struct leat_rng rng = {.state = 7};

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct leat_text jsonl = {.data = NULL}, want = {.data = NULL}, got = {.data = NULL};
        struct leat_error err = LEAT_ERROR_INIT;
        struct source source;
        for (uint64_t row = leat_rng_below(&rng, 60) + 1; row > 0; row--) {
            uint64_t first = leat_rng_below(&rng, 3), n = leat_rng_below(&rng, 50);
            int64_t id = (int64_t)leat_rng_next(&rng) / 1000;
            char text[200];
            for (uint64_t k = 0; k < n; k++)
                text[k] = "ab\"\\\n\t/{}[],"[leat_rng_below(&rng, 13)];
            leat_text_add(&jsonl, "{");
            for (uint64_t k = 0; k < 3; k++) {
                leat_text_add(&jsonl, k ? ", " : "");
                if ((first + k) % 3 == 0) {
                    leat_text_add(&jsonl, "\"t\": ");
                    leat_text_add_json(&jsonl, text, n);
                } else if ((first + k) % 3 == 1) {
                    leat_text_add(&jsonl, "\"m\":{\"u\":[{}],\"id\":%lld}", (long long)id);
                } else {
                    leat_text_add(&jsonl, "\"v\":[%llu,%llu]", (unsigned long long)n,
                                  (unsigned long long)first);
                }
            }
            leat_text_add(&jsonl, "}%s", leat_rng_below(&rng, 2) ? "\n" : "\r\n\n");
            leat_text_add(&want, "t=");
            leat_text_add_bytes(&want, text, n);
            leat_text_add(&want, "|id=%lld|v=%llu %llu\n", (long long)id, (unsigned long long)n,
                          (unsigned long long)first);
        }
        assert_int_equal(
            source_init(&source, "jsonl",
                        "{ paths: in, fields: {t: text, id: \"m.id int64\", v: list<uint16>} }",
                        &err),
            0);
        assert_int_equal(source_probe(&source, jsonl.data, jsonl.n_bytes, true, &err), 0);
        assert_int_equal(source_parse(&source, jsonl.data, jsonl.n_bytes,
                                      leat_rng_below(&rng, 2000), false, &got, &err),
                         0);
        assert_int_equal(got.n_bytes, want.n_bytes);
        assert_memory_equal(got.data, want.data, want.n_bytes);
        source_deinit(&source);
        free(jsonl.data);
        free(want.data);
        free(got.data);
    }
}

/* The value as it is written, whatever it is. */
static void json(void **state) {
    static const struct source_case cases[] = {
        {"fields: {a: json, n: int64}",
         "{\"x\":{\"a\":\"}\"},\"a\": [ {\"r\" : \"\\\"]\\u00e9\"},1e5 ] "
         ",\"n\":1}\n{\"a\":{},\"n\":2}\n"
         "{\"n\":3,\"a\":null}\n{ \"n\" : 4 "
         "}\n{\"n\":5,\"a\":-0.5E+1}\n{\"n\":6,\"a\":1,\"a\":\"s\"}",
         "a:text n:int64",
         "a=[ {\"r\" : \"\\\"]\\u00e9\"},1e5 ]|n=1\na={}|n=2\na=|n=3\na=|n=4\na=-0.5E+1|n=5\n"
         "a=\"s\"|n=6\n"},
        {"fields: {m: json, i: \"m.i json\", t: \"m.t text\", k: \"m.i.k json\"}",
         "{\"m\":{\"t\":\"x\",\"i\":{\"j\":[{}],\"k\":true},\"o\":{}},\"z\":[]}\n"
         "{\"m\":{\"i\":{\"k\":1}},\"m\":{\"t\":\"y\"}}\n{\"m\":[[]]}\n",
         "m:text i:text t:text k:text",
         "m={\"t\":\"x\",\"i\":{\"j\":[{}],\"k\":true},\"o\":{}}|i={\"j\":[{}],\"k\":true}|t=x|k="
         "true\n"
         "m={\"t\":\"y\"}|i=|t=y|k=\nm=[[]]|i=|t=|k=\n"},
        {"fields: {\"\xc3\xa9\": json}", "{\"\\u00e9\":[1]}", "\xc3\xa9:text", "\xc3\xa9=[1]\n"},
        {"fields: {a: json}, missing: {a: '[]'}", "{}\n{\"a\":\n", "a:text",
         "a=[]\n! 2:6 : the record is not valid JSON: expected a value, but the text ends here\n"},
        {"fields: {a: list<json>}", "", NULL, "\"list<json>\" is not a type"},
    };

    (void)state;
    check_source_cases("jsonl", cases, sizeof(cases) / sizeof(*cases));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(infers),        cmocka_unit_test(declared),
        cmocka_unit_test(odd_values),    cmocka_unit_test(zeros_keep_their_sign),
        cmocka_unit_test(json),          cmocka_unit_test(infers_from_whole_records),
        cmocka_unit_test(shortens_head), cmocka_unit_test(what_is_written_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
