#include "proto/base/scalar.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t leat_scalar_int(const void *values, enum leat_dtype dtype, size_t index) {
    switch (dtype) {
    case LEAT_DTYPE_BOOL:
    case LEAT_DTYPE_UINT8:
        return ((const uint8_t *)values)[index];
    case LEAT_DTYPE_UINT16:
        return ((const uint16_t *)values)[index];
    case LEAT_DTYPE_INT8:
        return ((const int8_t *)values)[index];
    case LEAT_DTYPE_INT16:
        return ((const int16_t *)values)[index];
    case LEAT_DTYPE_INT32:
        return ((const int32_t *)values)[index];
    case LEAT_DTYPE_INT64:
        return ((const int64_t *)values)[index];
    default:
        return 0;
    }
}

double leat_scalar_double(const void *values, enum leat_dtype dtype, size_t index) {
    uint32_t bits;
    float single;

    switch (dtype) {
    case LEAT_DTYPE_FLOAT16:
        return leat_float16_to_double(((const uint16_t *)values)[index]);
    case LEAT_DTYPE_BFLOAT16:
        bits = (uint32_t)((const uint16_t *)values)[index] << 16;
        memcpy(&single, &bits, sizeof(single));
        return (double)single;
    case LEAT_DTYPE_FLOAT32:
        return (double)((const float *)values)[index];
    case LEAT_DTYPE_FLOAT64:
        return ((const double *)values)[index];
    default:
        return (double)leat_scalar_int(values, dtype, index);
    }
}

/* binary16: 1 sign, 5 exponent, 10 fraction bits. llrint-like rounding of the scaled magnitude
 * gives ties to even. */
uint16_t leat_float16_from_double(double value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value);
    double scaled;
    int exponent;

    if (isnan(value))
        return (uint16_t)(sign | 0x7e00);
    if (magnitude < 0x1p-14) /* subnormal: a multiple of 2^-24 */
        return (uint16_t)(sign | (unsigned)nearbyint(magnitude * 0x1p24));
    if (magnitude >= 65520.0)
        return (uint16_t)(sign | 0x7c00);
    (void)frexp(magnitude, &exponent);
    scaled = nearbyint(ldexp(magnitude, 11 - exponent)); /* 1024..2048 */
    /* the leading bit of `scaled` adds one to the exponent, and 2048 carries into it */
    return (uint16_t)(sign + (unsigned)((exponent + 13) << 10) + (unsigned)scaled);
}

double leat_float16_to_double(uint16_t bits) {
    int exponent = (bits >> 10) & 31;
    double fraction = bits & 1023;
    double magnitude;

    if (exponent == 31)
        magnitude = fraction != 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        magnitude = fraction * 0x1p-24;
    else
        magnitude = ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

uint16_t leat_bfloat16_from_float(float value) {
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    if (isnan(value))
        return (uint16_t)((bits >> 16) | 0x40);
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static int store_float(void *values, enum leat_dtype dtype, size_t index, double value) {
    switch (dtype) {
    case LEAT_DTYPE_FLOAT16:
        ((uint16_t *)values)[index] = leat_float16_from_double(value);
        return 0;
    case LEAT_DTYPE_BFLOAT16:
        ((uint16_t *)values)[index] = leat_bfloat16_from_float((float)value);
        return 0;
    case LEAT_DTYPE_FLOAT32:
        ((float *)values)[index] = (float)value;
        return 0;
    case LEAT_DTYPE_FLOAT64:
        ((double *)values)[index] = value;
        return 0;
    default:
        return -EINVAL;
    }
}

int leat_scalar_store_int(void *values, enum leat_dtype dtype, size_t index, int64_t value) {
    switch (dtype) {
    case LEAT_DTYPE_BOOL:
        ((uint8_t *)values)[index] = (uint8_t)(value == 1);
        return value == 0 || value == 1 ? 0 : -ERANGE;
    case LEAT_DTYPE_UINT8:
        ((uint8_t *)values)[index] = (uint8_t)value;
        return value >= 0 && value <= UINT8_MAX ? 0 : -ERANGE;
    case LEAT_DTYPE_UINT16:
        ((uint16_t *)values)[index] = (uint16_t)value;
        return value >= 0 && value <= UINT16_MAX ? 0 : -ERANGE;
    case LEAT_DTYPE_INT8:
        ((int8_t *)values)[index] = (int8_t)value;
        return value >= INT8_MIN && value <= INT8_MAX ? 0 : -ERANGE;
    case LEAT_DTYPE_INT16:
        ((int16_t *)values)[index] = (int16_t)value;
        return value >= INT16_MIN && value <= INT16_MAX ? 0 : -ERANGE;
    case LEAT_DTYPE_INT32:
        ((int32_t *)values)[index] = (int32_t)value;
        return value >= INT32_MIN && value <= INT32_MAX ? 0 : -ERANGE;
    case LEAT_DTYPE_INT64:
        ((int64_t *)values)[index] = value;
        return 0;
    default:
        return store_float(values, dtype, index, (double)value);
    }
}

bool leat_scalar_rounds(enum leat_dtype dtype, int64_t value) {
    uint64_t element;
    double stored;

    if (leat_dtype_is_integer(dtype))
        return false;
    (void)leat_scalar_store_int(&element, dtype, 0, value);
    stored = leat_scalar_double(&element, dtype, 0);
    return !(stored >= -0x1p63 && stored < 0x1p63 && (int64_t)stored == value);
}

int leat_scalar_store_double(void *values, enum leat_dtype dtype, size_t index, double value) {
    if (!leat_dtype_is_integer(dtype))
        return store_float(values, dtype, index, value);
    if (!(value >= -0x1p63 && value < 0x1p63)) {
        (void)leat_scalar_store_int(values, dtype, index, 0);
        return -ERANGE;
    }
    if (value != trunc(value)) {
        (void)leat_scalar_store_int(values, dtype, index, 0);
        return -EINVAL;
    }
    return leat_scalar_store_int(values, dtype, index, (int64_t)value);
}

/* The shortest digits that read back equal, in the form of Python's repr(): plain decimals from
 * 1e-4 to 1e16, always with a point; else an exponent of two digits at least. */
static size_t print_double(double value, char *buffer) {
    int n_digits = 0, exponent;

    if (isnan(value))
        return (size_t)snprintf(buffer, LEAT_SCALAR_TEXT_MAX, "nan");
    if (isinf(value))
        return (size_t)snprintf(buffer, LEAT_SCALAR_TEXT_MAX, value > 0 ? "inf" : "-inf");
    if (value == trunc(value) && fabs(value) < 1e16)
        return (size_t)snprintf(buffer, LEAT_SCALAR_TEXT_MAX, "%.1f", value);
    do
        (void)snprintf(buffer, LEAT_SCALAR_TEXT_MAX, "%.*e", n_digits++, value);
    while (n_digits < 17 && strtod(buffer, NULL) != value);
    exponent = atoi(strchr(buffer, 'e') + 1);
    if (exponent < -4 || exponent >= 16)
        return strlen(buffer);
    return (size_t)snprintf(buffer, LEAT_SCALAR_TEXT_MAX, "%.*f", n_digits - 1 - exponent, value);
}

size_t leat_scalar_print(const void *values, enum leat_dtype dtype, size_t index, char *buffer) {
    if (dtype == LEAT_DTYPE_BOOL)
        return (size_t)snprintf(buffer, LEAT_SCALAR_TEXT_MAX,
                                ((const uint8_t *)values)[index] ? "true" : "false");
    if (leat_dtype_is_integer(dtype))
        return (size_t)snprintf(buffer, LEAT_SCALAR_TEXT_MAX, "%lld",
                                (long long)leat_scalar_int(values, dtype, index));
    return print_double(leat_scalar_double(values, dtype, index), buffer);
}
