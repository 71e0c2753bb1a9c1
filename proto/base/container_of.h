/* container_of.h: the struct that a member is part of. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LEAT_CONTAINER_OF(pointer, type, member)                                                   \
    ((type *)((uintptr_t)(pointer)-offsetof(type, member)))
