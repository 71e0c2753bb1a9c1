/* test_credentials.c: daemon/fetch/credentials.c: which source counts, what each says that is
 * wrong, and that no message has a secret. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/fetch/credentials.h"
#include "tests/daemon/shared_http.h"

#define FIVE_HUNDRED                                                                               \
    "HIDDENaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "a"                                                                                            \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaa"                                                                                      \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaa"                                                                                      \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaa"                                                                                      \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaa"
#define THOUSAND FIVE_HUNDRED FIVE_HUNDRED
#define TOO_LONG THOUSAND THOUSAND THOUSAND THOUSAND FIVE_HUNDRED

static char home[] = "/tmp/leat-credentials-XXXXXX";

static void write_file(const char *name, const char *text) {
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/.aws/%s", home, name);
    (void)unlink(path);
    if (!text)
        return;
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int make_home(void **state) {
    char path[256];

    (void)state;
    if (!mkdtemp(home))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/.aws", home);
    return mkdir(path, 0700);
}

static int remove_home(void **state) {
    char path[256];

    (void)state;
    write_file("credentials", NULL);
    write_file("config", NULL);
    (void)snprintf(path, sizeof(path), "%s/.aws", home);
    return rmdir(path) || rmdir(home);
}

/* One row: the environment as NAME=VALUE, the files, and what comes of it. */
struct row {
    const char *variables[5], *profile; /* profile: of the settings */
    const char *credentials, *config;
    const char *key, *token, *message; /* message NULL: no error; key NULL: there are none */
};

static void set_environment(const struct row *row) {
    static const char *const names[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN", "AWS_PROFILE",
                                        "AWS_CONFIG_FILE",   "AWS_SHARED_CREDENTIALS_FILE"};

    (void)setenv("HOME", home, 1);
    (void)setenv("AWS_EC2_METADATA_DISABLED", "TRUE", 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)unsetenv(names[i]);
    for (size_t i = 0; i < 5 && row->variables[i]; i++)
        assert_int_equal(putenv((char *)(uintptr_t)row->variables[i]), 0);
    write_file("credentials", row->credentials);
    write_file("config", row->config);
}

static void check_row(size_t k, const struct row *row) {
    static struct leat_credentials credentials;
    struct leat_fetch_settings settings = {.profile = row->profile};
    struct leat_error err = LEAT_ERROR_INIT;
    int r;

    set_environment(row);
    leat_credentials_forget(&credentials);
    r = leat_credentials_get(&credentials, &settings, &err);
    if (row->message) {
        if (r != -EACCES || !strstr(err.message, row->message) || strstr(err.message, "HIDDEN"))
            fail_msg("row %zu: %d %s", k, r, err.message);
        assert_false(credentials.is_known);
        return;
    }
    if (r != 0 || credentials.is_there != (row->key != NULL))
        fail_msg("row %zu: %d %s", k, r, err.message);
    assert_true(credentials.is_known);
    assert_string_equal(credentials.key, row->key ? row->key : "");
    assert_string_equal(credentials.secret, row->key ? "s" : "");
    assert_string_equal(credentials.token, row->token ? row->token : "");
}

#define KEYS(key)        "aws_access_key_id = " key "\naws_secret_access_key = s\n"
#define SAYS(profile, s) "[" profile "]\ncredential_process = " s "\n"
#define JSON(more)       "echo '{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\"" more "}'"

static void sources_and_what_is_wrong_with_them(void **state) {
    static const struct row rows[] = {
        {.key = NULL},
        /* the environment */
        {{"AWS_ACCESS_KEY_ID=e", "AWS_SECRET_ACCESS_KEY=s"}, .key = "e"},
        {{"AWS_ACCESS_KEY_ID=e", "AWS_SECRET_ACCESS_KEY=s", "AWS_SESSION_TOKEN=t"},
         .credentials = "[default]\n" KEYS("f"),
         .key = "e",
         .token = "t"},
        {{"AWS_ACCESS_KEY_ID=e"}, .key = NULL},
        {{"AWS_ACCESS_KEY_ID=e", "AWS_SECRET_ACCESS_KEY="}, .key = NULL},
        {{"AWS_SECRET_ACCESS_KEY=s"}, .credentials = "[default]\n" KEYS("f"), .key = "f"},
        {{"AWS_ACCESS_KEY_ID=e", "AWS_SECRET_ACCESS_KEY=HIDDEN\n"},
         .message = "the credentials in the environment contain a blank, a line break"},
        {{"AWS_ACCESS_KEY_ID=e", "AWS_SECRET_ACCESS_KEY=s", "AWS_SESSION_TOKEN=HIDDEN\r\nX: y"},
         .message = "the credentials in the environment contain a blank, a line break"},
        {{"AWS_ACCESS_KEY_ID=HIDDEN\x7f", "AWS_SECRET_ACCESS_KEY=s"},
         .message = "the credentials in the environment contain a blank, a line break"},
        {{"AWS_ACCESS_KEY_ID=" FIVE_HUNDRED, "AWS_SECRET_ACCESS_KEY=s"},
         .message = "AWS_ACCESS_KEY_ID in the environment has more than 255 bytes"},
        {{"AWS_ACCESS_KEY_ID=e", "AWS_SECRET_ACCESS_KEY=" FIVE_HUNDRED},
         .message = "AWS_SECRET_ACCESS_KEY in the environment has more than 255 bytes"},
        {{"AWS_ACCESS_KEY_ID=e", "AWS_SECRET_ACCESS_KEY=s", "AWS_SESSION_TOKEN=" TOO_LONG},
         .message = "AWS_SESSION_TOKEN in the environment has more than 4095 bytes"},
        /* files and profiles */
        {.credentials = "[default]\n" KEYS("f") "aws_session_token = t\n",
         .key = "f",
         .token = "t"},
        {.config = "[default]\n" KEYS("c"), .key = "c"},
        {.credentials = "[default]\naws_access_key_id = f\n",
         .config = "[default]\n" KEYS("c"),
         .key = "c"},
        {.credentials = "[default]\n" KEYS("f"), .config = "[default]\n" KEYS("c"), .key = "f"},
        {{"AWS_PROFILE=work"},
         .credentials = "[default]\n" KEYS("f") "[work]\n" KEYS("w"),
         .key = "w"},
        {{"AWS_PROFILE=none"}, .credentials = "[default]\n" KEYS("f"), .key = NULL},
        {{"AWS_PROFILE=work", "AWS_ACCESS_KEY_ID=e", "AWS_SECRET_ACCESS_KEY=s"},
         .profile = "job",
         .config = "[profile job]\n" KEYS("j"),
         .key = "j"},
        {{"HOME=/dev/null"}, .credentials = "[default]\n" KEYS("f"), .key = NULL},
        {{"HOME="}, .credentials = "[default]\n" KEYS("f"), .key = NULL},
        {{"AWS_SHARED_CREDENTIALS_FILE=/dev/null"},
         .credentials = "[default]\n" KEYS("f"),
         .key = NULL},
        {.credentials = "[default]\naws_access_key_id = f\naws_secret_access_key = HIDDEN HIDDEN\n",
         .message = "the credentials in ~/.aws/credentials contain a blank"},
        {.credentials =
             "[default]\naws_access_key_id = f\naws_secret_access_key = " FIVE_HUNDRED "\n",
         .message = "aws_secret_access_key in ~/.aws/credentials has more than 255 bytes"},
        {.config = "[default]\n" KEYS("c") "aws_session_token = " TOO_LONG "\n",
         .message = "aws_session_token in ~/.aws/config has more than 4095 bytes"},
        {.config = "[default]\naws_access_key_id = " FIVE_HUNDRED "\n",
         .message = "aws_access_key_id in ~/.aws/config has more than 255 bytes"},
        /* a program */
        {.config = SAYS("default", JSON("")), .key = "k"},
        {.config = SAYS("default", JSON(",\"SessionToken\":\"t\"")), .key = "k", .token = "t"},
        {.config = SAYS("default", JSON(",\"SessionToken\":\"HIDDEN t\"")),
         .message = "must be JSON with AccessKeyId"},
        {.config = SAYS("default", JSON(",\"SessionToken\":\"" TOO_LONG "\"")),
         .message = "credential_process in ~/.aws/config has more than 4095 bytes"},
        {.config = SAYS("default", "echo HIDDEN"), .message = "must be JSON with AccessKeyId"},
        {.config = SAYS("default", "true"), .message = "must be JSON with AccessKeyId"},
        {.config = SAYS("default", JSON("") "; exit 3"), .message = "failed: run it yourself"},
        {.config = SAYS("default", "kill -9 $$"), .message = "failed: run it yourself"},
        {.config = SAYS("default", "/no/such/program-HIDDEN"),
         .message = "failed: run it yourself"},
        {.config = SAYS("default", "head -c 70000 /dev/zero"), .message = "Argument list too long"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
        check_row(k, &rows[k]);
}

/* ---- JSON ---- */

static void what_a_program_may_say(void **state) {
    static const struct {
        const char *json;
        int code;
        int64_t expires_at;
        const char *token;
    } rows[] = {
        {"{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\"}", 0, 0, ""},
        {"{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\",\"Expiration\":\"1970-01-02T00:00:"
         "00Z\"}",
         0, 86400, ""},
        {"{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\",\"Expiration\":\"1970-01-02T00:00:00\"}",
         0, 86400, ""},
        {"{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\",\"Expiration\":\"1970-01-02T02:00:00+02:"
         "00\"}",
         0, 86400, ""},
        {"{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\",\"Expiration\":\"1970-01-01T19:00:00."
         "250-0500\"}",
         0, 86400, ""},
        {"{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\",\"Expiration\":\"tomorrow\"}", 0, 0, ""},
        {"{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\",\"Expiration\":86400}", 0, 0, ""},
        {"{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\",\"Token\":\"a\",\"SessionToken\":\"b\"}",
         0, 0, "b"},
        {"{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\",\"Token\":\"\"}", 0, 0, ""},
        {"{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\",\"Token\":\"" TOO_LONG "\"}", -EBADMSG,
         0, ""},
        {"{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\",\"Token\":\"a\\u0000b\"}", -EBADMSG, 0,
         ""},
        {"{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\",\"Token\":\"a\\nb\"}", -EBADMSG, 0, ""},
        {"{\"AccessKeyId\":\"\",\"SecretAccessKey\":\"s\"}", -EBADMSG, 0, ""},
        {"{\"AccessKeyId\":1,\"SecretAccessKey\":\"s\"}", -EBADMSG, 0, ""},
        {"{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"" FIVE_HUNDRED "\"}", -EBADMSG, 0, ""},
        {"{\"AccessKeyId\":\"\xc3\xbc\",\"SecretAccessKey\":\"s\"}", -EBADMSG, 0, ""},
        {"{\"AccessKeyId\":\"k\"", -EBADMSG, 0, ""},
        {"\"k\"", -EBADMSG, 0, ""},
    };
    static struct leat_credentials credentials;

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct leat_error err = LEAT_ERROR_INIT;
        int r;

        leat_credentials_forget(&credentials);
        r = leat_credentials_parse(rows[k].json, strlen(rows[k].json), &credentials, &err);
        if (r != rows[k].code)
            fail_msg("row %zu: %d %s", k, r, err.message);
        if (r == 0) {
            assert_int_equal(credentials.expires_at, rows[k].expires_at);
            assert_string_equal(credentials.token, rows[k].token);
        }
    }
}

/* ---- time ---- */

/* Those that do not expire soon are not looked for again. */
static void they_are_renewed_before_they_expire(void **state) {
    static const struct {
        int expires_in_s;
        bool is_renewed;
    } rows[] = {{3600, false}, {400, false}, {200, true}, {-10, true}};
    struct leat_fetch_settings settings = {.profile = NULL};
    static struct leat_credentials credentials;

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        time_t at = time(NULL) + rows[k].expires_in_s;
        char config[300], text[64];
        struct tm parts;

        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &parts));
        (void)snprintf(config, sizeof(config),
                       "[default]\ncredential_process = echo '{\"AccessKeyId\":\"k\","
                       "\"SecretAccessKey\":\"s\",\"Expiration\":\"%s\"}'\n",
                       text);
        set_environment(&(struct row){.config = config});
        leat_credentials_forget(&credentials);
        assert_int_equal(leat_credentials_get(&credentials, &settings, LEAT_ERROR_IGNORED), 0);
        assert_string_equal(credentials.key, "k");
        set_environment(&(struct row){.config = "[default]\n" KEYS("new")});
        assert_int_equal(leat_credentials_get(&credentials, &settings, LEAT_ERROR_IGNORED), 0);
        assert_string_equal(credentials.key, rows[k].is_renewed ? "new" : "k");
    }
}

/* ---- the metadata of the instance ---- */

#define OK(body)  "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" body
#define NOT_FOUND "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nnone"
#define ROLE                                                                                       \
    OK("{\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\",\"Token\":\"t\","                         \
       "\"Expiration\":\"2100-01-01T00:00:00Z\"}")

static void the_metadata_of_an_instance(void **state) {
    static const struct {
        const char *answers[3];
        bool is_there;
        size_t n_requests;
    } rows[] = {
        {{OK("token"), OK("role"), ROLE}, true, 3},
        {{OK("token"), OK("role\nother"), ROLE}, true, 3},
        {{NOT_FOUND}, false, 1},
        {{OK("")}, false, 1},
        {{""}, false, 1},
        {{OK("to\r\nken")}, false, 1},
        {{OK(THOUSAND THOUSAND)}, false, 1},
        {{OK("token"), NOT_FOUND}, false, 2},
        {{OK("token"), OK("a role")}, false, 2},
        {{OK("token"), OK(THOUSAND)}, false, 2},
        {{OK("token"), OK("role"), NOT_FOUND}, false, 3},
        {{OK("token"), OK("role"), OK("{\"Code\":\"Failed\"}")}, false, 3},
    };
    struct leat_fetch_settings settings = {.profile = NULL};
    static struct leat_credentials credentials;

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct http_server *server = http_start(rows[k].answers, 3);
        struct leat_error err = LEAT_ERROR_INIT;
        size_t n_requests;
        char *requests;

        set_environment(&(struct row){.key = NULL});
        (void)setenv("AWS_EC2_METADATA_DISABLED", "false", 1);
        (void)setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", http_url(server), 1);
        leat_credentials_forget(&credentials);
        assert_int_equal(leat_credentials_get(&credentials, &settings, &err), 0);
        requests = http_stop(server, &n_requests);
        if (credentials.is_there != rows[k].is_there || n_requests != rows[k].n_requests)
            fail_msg("row %zu: %zu requests: %s", k, n_requests, requests);
        assert_string_equal(credentials.key, rows[k].is_there ? "k" : "");
        assert_non_null(strstr(requests, "PUT /latest/api/token"));
        assert_true(n_requests < 3 ||
                    strstr(requests, "GET /latest/meta-data/iam/security-credentials/role "));
        assert_true(n_requests < 2 || strstr(requests, "X-aws-ec2-metadata-token: token\r\n"));
        assert_int_equal(leat_credentials_get(&credentials, &settings, &err),
                         0); /* not asked again */
        /* Where there are none now, there may be some later. */
        assert_in_range(credentials.expires_at, rows[k].is_there ? 4102444800 : time(NULL) + 300,
                        rows[k].is_there ? 4102444800 : time(NULL) + 900);
        free(requests);
    }
}

/* ---- where the store is ---- */

static void regions_and_endpoints(void **state) {
    static const struct {
        const char *variables[2], *endpoint, *region, *config;
        const char *ret_endpoint, *ret_region; /* ret_region NULL: -EINVAL */
    } rows[] = {
        {.ret_region = "us-east-1"},
        {{"AWS_REGION=eu-west-1", "AWS_DEFAULT_REGION=b"}, .ret_region = "eu-west-1"},
        {{"AWS_DEFAULT_REGION=eu-west-2"}, .ret_region = "eu-west-2"},
        {{"AWS_REGION=a"}, .region = "b", .ret_region = "b"},
        {.config = "[default]\nregion = c\nendpoint_url = http://h:9000//\n",
         .ret_region = "c",
         .ret_endpoint = "http://h:9000"},
        {{"AWS_ENDPOINT_URL=https://a", "AWS_ENDPOINT_URL_S3=https://b/"},
         .ret_region = "us-east-1",
         .ret_endpoint = "https://b"},
        {{"AWS_ENDPOINT_URL=https://a"},
         .endpoint = "http://c",
         .ret_region = "us-east-1",
         .ret_endpoint = "http://c"},
        {.endpoint = "h:9000"},
        {.endpoint = "ftp://h"},
        {.endpoint = "https://"},
        {.endpoint = "http:///"},
        {.endpoint = "https://u:HIDDEN@h"},
        {.endpoint = "https://h?a=b"},
        {.endpoint = "https://h #"},
        {.region = "eu west"},
        {.region = "eu/../x"},
        {.variables = {"AWS_REGION=eu.example.org/"}},
    };

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct leat_fetch_settings settings = {.endpoint = rows[k].endpoint,
                                               .region = rows[k].region};
        struct leat_error err = LEAT_ERROR_INIT;
        char *endpoint = NULL, *region = NULL;
        int r;

        (void)unsetenv("AWS_REGION");
        (void)unsetenv("AWS_DEFAULT_REGION");
        (void)unsetenv("AWS_ENDPOINT_URL");
        (void)unsetenv("AWS_ENDPOINT_URL_S3");
        set_environment(&(struct row){.variables = {rows[k].variables[0], rows[k].variables[1]},
                                      .config = rows[k].config});
        r = leat_store_find(&settings, &endpoint, &region, &err);
        if (r != (rows[k].ret_region ? 0 : -EINVAL) || strstr(err.message, "HIDDEN"))
            fail_msg("row %zu: %d %s", k, r, err.message);
        if (r == 0) {
            assert_string_equal(region, rows[k].ret_region);
            assert_string_equal(endpoint ? endpoint : "",
                                rows[k].ret_endpoint ? rows[k].ret_endpoint : "");
        }
        free(endpoint);
        free(region);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_and_what_is_wrong_with_them),
        cmocka_unit_test(what_a_program_may_say),
        cmocka_unit_test(they_are_renewed_before_they_expire),
        cmocka_unit_test(the_metadata_of_an_instance),
        cmocka_unit_test(regions_and_endpoints),
    };

    return cmocka_run_group_tests(tests, make_home, remove_home);
}
