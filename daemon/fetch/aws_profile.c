#include "daemon/fetch/aws_profile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define BLANKS " \t\r"

struct span {
    const char *at;
    size_t n;
};

static struct span trim(const char *at, size_t n) {
    while (n > 0 && strchr(BLANKS, at[0])) {
        at++;
        n--;
    }
    while (n > 0 && strchr(BLANKS, at[n - 1]))
        n--;
    return (struct span){at, n};
}

static bool is_text(struct span span, const char *text) {
    return span.n == strlen(text) && memcmp(span.at, text, span.n) == 0;
}

/* True if the line is the head of a section; *ret_is_ours: of that profile. */
static bool read_head(struct span line, const char *profile, bool *ret_is_ours) {
    struct span name;

    if (line.n < 2 || line.at[0] != '[' || line.at[line.n - 1] != ']')
        return false;
    name = trim(line.at + 1, line.n - 2);
    if (name.n > 8 && memcmp(name.at, "profile", 7) == 0 && strchr(BLANKS, name.at[7]))
        name = trim(name.at + 8, name.n - 8);
    *ret_is_ours = is_text(name, profile);
    return true;
}

int leat_aws_profile_get(const char *text, const char *profile, const char *key, char *buffer,
                         size_t size) {
    bool is_ours = false;
    int r = 0;

    while (*text) {
        size_t n = strcspn(text, "\n");
        struct span line = trim(text, n);
        const char *equals = line.n > 0 ? memchr(line.at, '=', line.n) : NULL;
        bool is_plain = line.n > 0 && line.at == text && !strchr("#;", text[0]);

        if (is_plain && !read_head(line, profile, &is_ours) && is_ours && equals &&
            is_text(trim(line.at, (size_t)(equals - line.at)), key)) {
            struct span value = trim(equals + 1, (size_t)(line.at + line.n - equals - 1));

            r = value.n >= size ? -E2BIG : value.n > 0;
            if (r > 0) {
                memcpy(buffer, value.at, value.n);
                buffer[value.n] = '\0';
            }
        }
        text += n + (text[n] == '\n');
    }
    return r;
}
