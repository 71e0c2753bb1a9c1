#include "daemon/fetch/credentials.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/fetch/aws_profile.h"
#include "pipeline/io/opener.h"
#include "pipeline/tokenizer/json.h"
#include "proto/base/clock.h"

#define FILE_BYTES_MAX   (1U << 20)
#define ANSWER_BYTES_MAX 65536
#define PROCESS_MS       60000
#define METADATA_MS      2000
#define SOON_S           300 /* before they expire others are taken */
#define AGAIN_S          300 /* where there are none, they are looked for again */
#define METADATA         "http://169.254.169.254"
#define METADATA_ROLES   "/latest/meta-data/iam/security-credentials/"

/* An answer with secrets. */
struct answer {
    char bytes[ANSWER_BYTES_MAX + 1];
    size_t n;
};

static struct answer *answer_free(struct answer *answer) {
    if (answer)
        explicit_bzero(answer, sizeof(*answer));
    free(answer);
    return NULL;
}

static const char *variable(const char *name) {
    const char *value = getenv(name);

    return value && value[0] ? value : NULL;
}

static const char *profile_name(const struct leat_fetch_settings *settings) {
    const char *name = settings->profile ? settings->profile : variable("AWS_PROFILE");

    return name ? name : "default";
}

/* ~/.aws/NAME, or what the variable names; NULL: there is none. */
static char *read_aws_file(const char *name, const char *named_by, size_t *ret_n) {
    const char *home = variable("HOME"), *named = variable(named_by);
    char *path = NULL, *text = NULL;

    if (named)
        path = strdup(named);
    else if (home && asprintf(&path, "%s/.aws/%s", home, name) < 0)
        path = NULL;
    if (path)
        (void)leat_opener_read(&leat_opener_any, path, FILE_BYTES_MAX, &text, ret_n,
                               LEAT_ERROR_IGNORED);
    free(path);
    return text;
}

/* 1; 0: there is none; -E2BIG. */
static int get_of_profile(const struct leat_fetch_settings *settings, bool is_config,
                          const char *key, char *buffer, size_t size) {
    size_t n = 0;
    char *text = is_config ? read_aws_file("config", "AWS_CONFIG_FILE", &n)
                           : read_aws_file("credentials", "AWS_SHARED_CREDENTIALS_FILE", &n);
    int r = text ? leat_aws_profile_get(text, profile_name(settings), key, buffer, size) : 0;

    if (text)
        explicit_bzero(text, n);
    free(text);
    return r;
}

/* ---- JSON ---- */

/* 1; 0: there is no such text, or it is empty; -EBADMSG: it does not fit, or no text has it. */
static int get_text(struct leat_json_node root, const char *key, char *buffer, size_t size) {
    struct leat_json_node node;
    const char *text;
    size_t n;

    if (!leat_json_find(root, key, strlen(key), &node) || leat_json_kind(node) != LEAT_JSON_STRING)
        return 0;
    text = leat_json_string(node, &n);
    if (n == 0)
        return 0;
    if (n >= size || strlen(text) != n)
        return -EBADMSG;
    memcpy(buffer, text, n + 1);
    return 1;
}

static bool is_plain(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text <= 0x20 || (unsigned char)*text >= 0x7f)
            return false;
    return true;
}

/* ISO 8601, in UTC unless it says otherwise; 0: it is no time. */
static int64_t read_time(const char *text) {
    struct tm time = {.tm_year = 0}, zone = {.tm_gmtoff = 0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &time);

    if (!rest)
        return 0;
    if (*rest == '.')
        rest += 1 + strspn(rest + 1, "0123456789");
    (void)strptime(rest, "%z", &zone);
    return (int64_t)timegm(&time) - zone.tm_gmtoff;
}

static int take_json(struct leat_json_node root, struct leat_credentials *credentials) {
    char expiration[64];
    int r;

    if (leat_json_kind(root) != LEAT_JSON_OBJECT ||
        get_text(root, "AccessKeyId", credentials->key, sizeof(credentials->key)) != 1 ||
        get_text(root, "SecretAccessKey", credentials->secret, sizeof(credentials->secret)) != 1)
        return -EBADMSG;
    credentials->token[0] = '\0';
    r = get_text(root, "SessionToken", credentials->token, sizeof(credentials->token));
    if (r == 0)
        r = get_text(root, "Token", credentials->token, sizeof(credentials->token));
    if (r < 0)
        return r;
    r = get_text(root, "Expiration", expiration, sizeof(expiration));
    credentials->expires_at = r > 0 ? read_time(expiration) : 0;
    return is_plain(credentials->key) && is_plain(credentials->secret) &&
                   is_plain(credentials->token)
               ? 0
               : -EBADMSG;
}

int leat_credentials_parse(const char *json, size_t n_bytes, struct leat_credentials *credentials,
                           struct leat_error *err) {
    struct leat_json_node root;
    struct leat_json *parser;
    int r = leat_json_new(n_bytes + 1, &parser);

    if (r < 0)
        return leat_error_oom(err);
    if (leat_json_parse(parser, json, n_bytes, n_bytes, &root, LEAT_ERROR_IGNORED) < 0)
        r = -EBADMSG;
    else
        r = take_json(root, credentials);
    leat_json_free(parser);
    return r == 0
               ? 0
               : leat_error_set(err, -EBADMSG, "must be JSON with AccessKeyId and SecretAccessKey");
}

/* ---- credential_process ---- */

/* Reads until the end, for PROCESS_MS at most. */
static int read_answer(int fd, struct answer *answer) {
    uint64_t until = leat_now_ns() + UINT64_C(1000000) * PROCESS_MS;

    for (;;) {
        int64_t left = ((int64_t)until - (int64_t)leat_now_ns()) / 1000000;
        struct pollfd watch = {.fd = fd, .events = POLLIN};
        int r = left > 0 ? poll(&watch, 1, (int)left) : 0;
        ssize_t n;

        if (r == 0)
            return -ETIMEDOUT;
        n = r < 0 ? -1 : read(fd, answer->bytes + answer->n, ANSWER_BYTES_MAX - answer->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 ? 0 : -errno;
        answer->n += (size_t)n;
        if (answer->n == ANSWER_BYTES_MAX)
            return -E2BIG;
    }
}

static int run_process(const char *command, struct answer *answer) {
    char *const arguments[] = {(char *)"sh", (char *)"-c", (char *)(uintptr_t)command, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], status = 0, r;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    r = -posix_spawn_file_actions_init(&actions);
    if (r == 0) {
        (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        r = -posix_spawn(&pid, "/bin/sh", &actions, NULL, arguments, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    (void)close(ends[1]);
    if (r == 0) {
        r = read_answer(ends[0], answer);
        if (r < 0)
            (void)kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
        if (r == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
            r = -ECHILD;
    }
    (void)close(ends[0]);
    return r;
}

static int ask_process(struct leat_credentials *credentials, const char *command,
                       struct leat_error *err) {
    struct answer *answer = calloc(1, sizeof(*answer));
    struct leat_error why = LEAT_ERROR_INIT;
    int r = answer ? run_process(command, answer) : -ENOMEM;

    if (r == -ECHILD)
        leat_error_set(err, -EACCES,
                       "the program in `credential_process` of ~/.aws/config failed: run it "
                       "yourself to see why");
    else if (r < 0)
        leat_error_set(err, -EACCES,
                       "cannot run the program in `credential_process` of ~/.aws/config: %s",
                       strerror(-r));
    else if (leat_credentials_parse(answer->bytes, answer->n, credentials, &why) < 0)
        r = leat_error_set(err, -EACCES,
                           "the output of the program in `credential_process` of ~/.aws/config %s",
                           why.message);
    answer_free(answer);
    credentials->source = "credential_process";
    return r < 0 ? -EACCES : 0;
}

/* ---- the metadata of the instance ---- */

static size_t on_metadata(char *data, size_t size, size_t n, void *user) {
    struct answer *answer = user;

    if (size * n > ANSWER_BYTES_MAX - answer->n)
        return 0;
    memcpy(answer->bytes + answer->n, data, size * n);
    answer->n += size * n;
    answer->bytes[answer->n] = '\0';
    return size * n;
}

/* header: of the request. False: there is no such answer. */
static bool ask_metadata(const char *method, const char *path, const char *header,
                         struct answer *answer) {
    const char *base = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    struct curl_slist *headers = curl_slist_append(NULL, header);
    CURL *easy = curl_easy_init();
    char *url = NULL;
    long status = 0;

    answer->n = 0;
    if (easy && headers && asprintf(&url, "%s%s", base ? base : METADATA, path) >= 0) {
        (void)curl_easy_setopt(easy, CURLOPT_URL, url);
        (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
        (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
        (void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
        (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
        (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)METADATA_MS / 2);
        (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)METADATA_MS);
        (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_metadata);
        (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, answer);
        if (curl_easy_perform(easy) == CURLE_OK)
            (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        free(url);
    }
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
    return status == 200 && answer->n > 0;
}

static bool get_from_metadata(struct answer *answer, struct leat_credentials *credentials) {
    char header[1024], path[512];
    int n;

    if (!ask_metadata("PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 21600",
                      answer))
        return false;
    n = snprintf(header, sizeof(header), "X-aws-ec2-metadata-token: %s", answer->bytes);
    if (n >= (int)sizeof(header) || strpbrk(header, "\r\n") ||
        !ask_metadata("GET", METADATA_ROLES, header, answer))
        return false;
    answer->bytes[strcspn(answer->bytes, "\r\n")] = '\0';
    n = snprintf(path, sizeof(path), METADATA_ROLES "%s", answer->bytes);
    if (n >= (int)sizeof(path) || !is_plain(path) || !ask_metadata("GET", path, header, answer))
        return false;
    credentials->source = "the metadata of the instance";
    return leat_credentials_parse(answer->bytes, answer->n, credentials, LEAT_ERROR_IGNORED) == 0;
}

static void take_metadata(struct leat_credentials *credentials) {
    const char *is_off = variable("AWS_EC2_METADATA_DISABLED");
    struct answer *answer =
        is_off && strcasecmp(is_off, "true") == 0 ? NULL : calloc(1, sizeof(*answer));

    credentials->is_there = answer && get_from_metadata(answer, credentials);
    if (!credentials->is_there) { /* perhaps the service is only starting: looked for again */
        leat_credentials_forget(credentials);
        credentials->expires_at = (int64_t)time(NULL) + SOON_S + AGAIN_S;
    }
    answer_free(answer);
}

/* ---- all of them ---- */

/* Refuses credentials that would change the head of a request. Returns 1, or -EACCES. */
static int check(const struct leat_credentials *credentials, struct leat_error *err) {
    if (is_plain(credentials->key) && is_plain(credentials->secret) && is_plain(credentials->token))
        return 1;
    return leat_error_set(err, -EACCES,
                          "the credentials in %s contain a blank, a line break, or another "
                          "character that credentials cannot contain",
                          credentials->source);
}

/* Where credentials may stand. */
enum place { ENVIRONMENT, CREDENTIALS_FILE, CONFIG_FILE };
static const char *const place_names[] = {"the environment", "~/.aws/credentials", "~/.aws/config"};

/* 1: copied; 0: there is none; -EACCES: it is too long. */
static int copy_from(const struct leat_fetch_settings *settings, enum place place, const char *key,
                     char *buffer, size_t size, struct leat_error *err) {
    const char *value = place == ENVIRONMENT ? variable(key) : NULL;
    int r;

    if (place != ENVIRONMENT)
        r = get_of_profile(settings, place == CONFIG_FILE, key, buffer, size);
    else if (snprintf(buffer, size, "%s", value ? value : "") >= (int)size)
        r = -E2BIG;
    else
        r = value != NULL;
    return r < 0 ? leat_error_set(err, -EACCES, "%s in %s has more than %zu bytes", key,
                                  place_names[place], size - 1)
                 : r;
}

/* These take a source: 1; 0: it has none; -EACCES. */
static int take_from(struct leat_credentials *credentials,
                     const struct leat_fetch_settings *settings, enum place place,
                     struct leat_error *err) {
    static const char *const names[2][3] = {
        {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"},
        {"aws_access_key_id", "aws_secret_access_key", "aws_session_token"}};
    const char *const *keys = names[place != ENVIRONMENT];
    int r = copy_from(settings, place, keys[0], credentials->key, sizeof(credentials->key), err);

    credentials->source = place_names[place];
    if (r > 0)
        r = copy_from(settings, place, keys[1], credentials->secret, sizeof(credentials->secret),
                      err);
    if (r > 0) {
        credentials->token[0] = '\0';
        if (copy_from(settings, place, keys[2], credentials->token, sizeof(credentials->token),
                      err) < 0)
            r = -EACCES;
    }
    return r > 0 ? check(credentials, err) : r;
}

static int take_process(struct leat_credentials *credentials,
                        const struct leat_fetch_settings *settings, struct leat_error *err) {
    char command[LEAT_SECRET_MAX];
    int r = copy_from(settings, CONFIG_FILE, "credential_process", command, sizeof(command), err);

    if (r > 0)
        r = ask_process(credentials, command, err) < 0 ? -EACCES : 1;
    explicit_bzero(command, sizeof(command));
    return r;
}

int leat_credentials_get(struct leat_credentials *credentials,
                         const struct leat_fetch_settings *settings, struct leat_error *err) {
    int r = 0;

    if (credentials->is_known &&
        (credentials->expires_at == 0 || credentials->expires_at - SOON_S > (int64_t)time(NULL)))
        return 0;
    leat_credentials_forget(credentials);
    for (int place = settings->profile ? CREDENTIALS_FILE : ENVIRONMENT;
         r == 0 && place <= CONFIG_FILE; place++)
        r = take_from(credentials, settings, (enum place)place, err);
    if (r == 0)
        r = take_process(credentials, settings, err);
    credentials->is_there = r > 0;
    if (r == 0)
        take_metadata(credentials);
    credentials->is_known = r >= 0;
    return r < 0 ? r : 0;
}

void leat_credentials_forget(struct leat_credentials *credentials) {
    explicit_bzero(credentials, sizeof(*credentials));
}

int leat_store_find(const struct leat_fetch_settings *settings, char **ret_endpoint,
                    char **ret_region, struct leat_error *err) {
    char of_profile[LEAT_SECRET_MAX];
    const char *endpoint = settings->endpoint, *region = settings->region;
    size_t n;

    endpoint = endpoint ? endpoint : variable("AWS_ENDPOINT_URL_S3");
    endpoint = endpoint ? endpoint : variable("AWS_ENDPOINT_URL");
    if (!endpoint &&
        get_of_profile(settings, true, "endpoint_url", of_profile, sizeof(of_profile)) > 0)
        endpoint = of_profile;
    n = endpoint ? strlen(endpoint) : 0;
    while (n > 0 && endpoint[n - 1] == '/')
        n--;
    if (endpoint && ((strncmp(endpoint, "https://", 8) != 0 && strncmp(endpoint, "http://", 7)) ||
                     n < strlen("http://h") || strpbrk(endpoint, "@?# ")))
        return leat_error_set(err, -EINVAL,
                              "the endpoint (AWS_ENDPOINT_URL, or `endpoint` of `fetch`) must be a "
                              "plain URL that begins with https:// or http://");
    *ret_endpoint = endpoint ? strndup(endpoint, n) : NULL;
    if (endpoint && !*ret_endpoint)
        return leat_error_oom(err);
    region = region ? region : variable("AWS_REGION");
    region = region ? region : variable("AWS_DEFAULT_REGION");
    if (!region && get_of_profile(settings, true, "region", of_profile, sizeof(of_profile)) > 0)
        region = of_profile;
    region = region ? region : "us-east-1";
    if (strspn(region, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") !=
        strlen(region))
        return leat_error_set(err, -EINVAL,
                              "the region (AWS_REGION, or `region` of `fetch`) may contain only "
                              "letters, digits and -");
    *ret_region = strdup(region);
    return *ret_region ? 0 : leat_error_oom(err);
}
