/* rfft/transform.h: the discrete Fourier transform of real numbers, as numpy.fft.rfft, by KissFFT.
 *
 * KissFFT computes in float32. A row is scaled by a power of two before and after, so that its
 * largest number lies in 0.5..1 and rows of any magnitude have the same precision; what surrounds
 * KissFFT is computed in double. An even number of points is packed into half as many complex ones
 * (Sorensen et al., Real-valued fast Fourier transform algorithms, 1987).
 *
 * Immutable: any thread, each with memory of its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LEAT_RFFT_POINTS_MAX (UINT32_C(1) << 20)
/* KissFFT takes time in proportion to the largest prime factor. */
#define LEAT_RFFT_PRIME_MAX 127

struct leat_rfft;

/* The least allowed number of points that is at least n: all its prime factors are small. */
uint32_t leat_rfft_next_size(uint32_t n);

/* n_points must be an allowed size. 0 or -ENOMEM. */
int leat_rfft_new(uint32_t n_points, struct leat_rfft **ret_rfft);
struct leat_rfft *leat_rfft_free(struct leat_rfft *rfft);

/* Bytes of memory that execute needs, aligned to 16. */
size_t leat_rfft_memory(const struct leat_rfft *rfft);
/* points[n_points], all finite, to n_points / 2 + 1 complex numbers: real and imaginary parts in
 * turns. */
void leat_rfft_execute(const struct leat_rfft *rfft, const double *points, double *ret_spectrum,
                       void *memory);
