#include "pipeline/stages/rfft/transform.h"

#include <errno.h>
#include <kiss_fft.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define EXPONENT_MAX 1000 /* its power of two and its inverse are doubles */

struct turn {
    double r, i;
};

struct leat_rfft {
    uint32_t n_points;
    uint32_t n_complex; /* that KissFFT transforms */
    bool is_packed;
    kiss_fft_cfg complex; /* read only */
    struct turn *turns;   /* packed: exp(-2 pi i k / n_points), [n_complex + 1] */
};

static uint32_t largest_prime(uint32_t n) {
    uint32_t largest = 1;

    for (uint32_t p = 2; p * p <= n; p++)
        for (; n % p == 0; n /= p)
            largest = p;
    return n > 1 ? n : largest;
}

uint32_t leat_rfft_next_size(uint32_t n) {
    while (largest_prime(n) > LEAT_RFFT_PRIME_MAX)
        n++;
    return n;
}

static void fill_turns(struct leat_rfft *rfft) {
    for (uint32_t k = 0; k <= rfft->n_complex; k++) {
        double angle = -2 * M_PI * k / rfft->n_points;

        rfft->turns[k] = (struct turn){cos(angle), sin(angle)};
    }
    if (rfft->n_complex % 2 == 0) /* exact values */
        rfft->turns[rfft->n_complex / 2] = (struct turn){0, -1};
    rfft->turns[rfft->n_complex] = (struct turn){-1, 0};
}

int leat_rfft_new(uint32_t n_points, struct leat_rfft **ret_rfft) {
    struct leat_rfft *rfft = calloc(1, sizeof(*rfft));

    if (!rfft)
        return -ENOMEM;
    rfft->n_points = n_points;
    rfft->is_packed = n_points % 2 == 0;
    rfft->n_complex = rfft->is_packed ? n_points / 2 : n_points;
    rfft->complex = kiss_fft_alloc((int)rfft->n_complex, 0, NULL, NULL);
    rfft->turns = calloc((size_t)rfft->n_complex + 1, sizeof(*rfft->turns));
    if (!rfft->complex || !rfft->turns) {
        leat_rfft_free(rfft);
        return -ENOMEM;
    }
    if (rfft->is_packed)
        fill_turns(rfft);
    *ret_rfft = rfft;
    return 0;
}

struct leat_rfft *leat_rfft_free(struct leat_rfft *rfft) {
    if (!rfft)
        return NULL;
    kiss_fft_free(rfft->complex);
    free(rfft->turns);
    free(rfft);
    return NULL;
}

size_t leat_rfft_memory(const struct leat_rfft *rfft) {
    return 2 * (size_t)rfft->n_complex * sizeof(kiss_fft_cpx);
}

static int exponent_of(const double *points, uint32_t n) {
    double largest = 0;
    int exponent;

    for (uint32_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(points[i]));
    (void)frexp(largest, &exponent);
    return exponent > EXPONENT_MAX ? EXPONENT_MAX
                                   : (exponent < -EXPONENT_MAX ? -EXPONENT_MAX : exponent);
}

/* Unpacks the spectra of even and odd points, and combines them. */
static void unpack(const struct leat_rfft *rfft, const kiss_fft_cpx *packed, double *spectrum,
                   double scale) {
    uint32_t n = rfft->n_complex;

    for (uint32_t k = 0; k <= n; k++) {
        const kiss_fft_cpx *a = &packed[k % n], *b = &packed[(n - k) % n];
        double even_r = ((double)a->r + (double)b->r) / 2;
        double even_i = ((double)a->i - (double)b->i) / 2;
        double odd_r = ((double)a->i + (double)b->i) / 2;
        double odd_i = ((double)b->r - (double)a->r) / 2;
        struct turn turn = rfft->turns[k];

        spectrum[2 * k] = (even_r + odd_r * turn.r - odd_i * turn.i) * scale;
        spectrum[2 * k + 1] = (even_i + odd_r * turn.i + odd_i * turn.r) * scale;
    }
}

void leat_rfft_execute(const struct leat_rfft *rfft, const double *points, double *ret_spectrum,
                       void *memory) {
    kiss_fft_cpx *in = memory, *out = in + rfft->n_complex;
    int exponent = exponent_of(points, rfft->n_points);
    double down = ldexp(1, -exponent), up = ldexp(1, exponent);

    for (uint32_t i = 0; i < rfft->n_complex; i++) {
        in[i].r = (float)(points[rfft->is_packed ? 2 * i : i] * down);
        in[i].i = rfft->is_packed ? (float)(points[2 * i + 1] * down) : 0;
    }
    kiss_fft(rfft->complex, in, out);
    if (rfft->is_packed) {
        unpack(rfft, out, ret_spectrum, up);
        return;
    }
    for (uint32_t k = 0; k <= rfft->n_points / 2; k++) {
        ret_spectrum[2 * k] = (double)out[k].r * up;
        ret_spectrum[2 * k + 1] = (double)out[k].i * up;
    }
}
