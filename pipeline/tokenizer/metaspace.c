#include "pipeline/tokenizer/metaspace.h"

int leat_metaspace_read(const struct leat_component *component,
                        struct leat_metaspace *ret_metaspace, struct leat_error *err) {
    static const char *const schemes[] = {"always", "first", "never", NULL};
    bool adds_prefix = true;
    int scheme = 0, r;

    r = leat_component_character(component, "replacement", &ret_metaspace->replacement,
                                 &ret_metaspace->n_replacement, err);
    if (r == 0)
        r = leat_component_choice(component, "prepend_scheme", schemes, LEAT_SCHEME_ALWAYS, &scheme,
                                  err);
    if (r == 0)
        r = leat_component_bool(component, "split", true, &ret_metaspace->splits, err);
    if (r == 0)
        r = leat_component_bool(component, "add_prefix_space", true, &adds_prefix, err);
    ret_metaspace->scheme = (enum leat_metaspace_scheme)scheme;
    if (r == 0 && !adds_prefix && scheme != LEAT_SCHEME_NEVER)
        return leat_component_error(
            component, err,
            "add_prefix_space is false, so prepend_scheme must be \"never\", not \"%s\"",
            schemes[scheme]);
    return r;
}
