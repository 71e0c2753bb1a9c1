#include "proto/base/elsewhere.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *scheme, *what, *way;
} places[] = {
    {"s3", "an object in S3", "copy it here (aws s3 cp) or mount its bucket (mount-s3)"},
    {"gs", "an object in Google Cloud Storage",
     "copy it here (gcloud storage cp) or mount its bucket (gcsfuse)"},
    {"az", "an object in Azure Blob Storage", "copy it here (azcopy copy) or mount it (blobfuse2)"},
    {"hf", "a file on the Hugging Face Hub", "download it (hf download)"},
    {"http", "a web address", "download it (curl -LO)"},
    {"https", "a web address", "download it (curl -LO)"},
    {"file", "a URL", "write it without file://"},
};

static bool is_scheme(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '-' || c == '.';
}

/* Where "scheme://" begins in the path, at its start or behind a slash; NULL: nowhere. */
static const char *find_name(const char *path, size_t *ret_n_scheme) {
    const char *colon = strstr(path, "://"), *start = colon;

    while (start && start > path && is_scheme(start[-1]))
        start--;
    if (!colon || start == colon || (start > path && start[-1] != '/'))
        return NULL;
    *ret_n_scheme = (size_t)(colon - start);
    return start;
}

bool leat_elsewhere_tell(const char *path, struct leat_error *err) {
    const char *what = "an address", *way = "copy it here or mount it";
    size_t n_scheme;
    const char *name = find_name(path, &n_scheme);

    if (!name)
        return false;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (strlen(places[i].scheme) != n_scheme ||
            strncasecmp(places[i].scheme, name, n_scheme) != 0)
            continue;
        what = places[i].what;
        way = places[i].way;
    }
    leat_error_set(
        err, -ENOENT,
        "\"%.256s\" is %s, but here leat can read only local files: %s, and give the local path",
        name, what, way);
    return true;
}

bool leat_elsewhere_is_object(const char *path) {
    return strncmp(path, "s3://", 5) == 0 || strncmp(path, "https://", 8) == 0 ||
           strncmp(path, "http://", 7) == 0;
}

int leat_elsewhere_fail(const char *path, int code, struct leat_error *err) {
    if (code == -ENOENT && leat_elsewhere_tell(path, err))
        return code;
    return leat_error_set(err, code, "%s: %s", path, strerror(-code));
}
