/* shared_source_cases.h: what a source makes of a text, as a table; see shared_source.h for the
 * form. */
#pragma once

#include <stddef.h>

struct source_case {
    const char *args; /* YAML, besides `paths` */
    const char *text;
    const char *schema; /* NULL: the spec or the head is refused, with the error in `rows` */
    const char *rows;
};

/* Fails the running test at the first case that is not met, in one piece or in small ones. */
void check_source_cases(const char *kind, const struct source_case *cases, size_t n_cases);
