/* range.h: a part of a text. Owner: the holder of the value. */
#pragma once

#include <stdint.h>

/* Bytes start..end - 1 of a text. */
struct leat_range {
    uint32_t start, end;
};
