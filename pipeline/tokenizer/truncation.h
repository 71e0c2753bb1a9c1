/* truncation.h: how long the encodings of a tokenizer may and must be: `truncation` and `padding`
 * of a tokenizer.json, or what a user wants in their place. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct leat_truncation {
    bool is_on;
    bool cuts_left; /* direction Left: the tail is kept */
    enum {
        LEAT_TRUNCATE_LONGEST_FIRST,
        LEAT_TRUNCATE_ONLY_FIRST,
        LEAT_TRUNCATE_ONLY_SECOND
    } strategy;
    uint32_t max_length;
    uint32_t stride;
};

struct leat_padding {
    bool is_on;
    bool pads_left;
    uint32_t fixed_length; /* 0: the longest of the batch */
    uint32_t multiple_of;  /* 0: any */
    int32_t pad_id;
    uint32_t pad_type_id;
};
