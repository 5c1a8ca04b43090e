/* A bare strict Mondrian on packed records: the limit of the machine that our kernel is held to.
 *
 * A record is 16 bytes: ten columns of one byte each, and six bytes of padding, so that one vector
 * instruction takes the minimum of a whole record. A segment is cut at the widest normalized range
 * (the first of equals), at the boundary between two values that leaves the halves most alike (the
 * higher of equals); the cut counts if both sides keep k records, else the next widest column is
 * tried. No guarantees beside k, no table, no recoding: whatever we do costs more.
 *
 * LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional K-Anonymity, ICDE 2006, section 4.
 *
 * Usage: mondrian_baseline FILE K RUNS    (FILE: n records of 16 bytes)
 * Prints one line of JSON: {"cells": ..., "rows": ..., "seconds": [...]}
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { WIDTH = 16, COLUMNS = 10, VALUES = 256, STACK = 4096 };

typedef uint8_t record __attribute__((vector_size(WIDTH)));
typedef struct { record low, high; } extent;
typedef struct { record *here, *there; int64_t n; } segment; /* `there`: as much room elsewhere */

#ifdef __SSE2__
static inline record lower(record a, record b) {
    return (record)_mm_min_epu8((__m128i)a, (__m128i)b);
}

static inline record higher(record a, record b) {
    return (record)_mm_max_epu8((__m128i)a, (__m128i)b);
}
#else /* C has no minimum of vectors; the compiler makes a compare and a blend of these */
static inline record lower(record a, record b) {
    record less = (record)(a < b);
    return (a & less) | (b & ~less);
}

static inline record higher(record a, record b) {
    record more = (record)(a > b);
    return (a & more) | (b & ~more);
}
#endif

static extent extent_of(const record *rows, int64_t n) {
    /* four accumulators: the minimum of one record needn't wait for that of the last */
    record low[4], high[4];
    for (int a = 0; a < 4; a++) low[a] = high[a] = rows[0];
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int a = 0; a < 4; a++) {
            low[a] = lower(rows[i + a], low[a]);
            high[a] = higher(rows[i + a], high[a]);
        }
    for (; i < n; i++) {
        low[0] = lower(rows[i], low[0]);
        high[0] = higher(rows[i], high[0]);
    }
    for (int a = 1; a < 4; a++) {
        low[0] = lower(low[a], low[0]);
        high[0] = higher(high[a], high[0]);
    }
    return (extent){low[0], high[0]};
}

/* The last value of the left side of the most even cut, or -1 if a side would miss k. */
static int cut_of(const record *rows, int64_t n, int column, int low, int high, int64_t k,
                  int64_t *left) {
    uint32_t counts[4][VALUES];
    for (int a = 0; a < 4; a++) memset(counts[a] + low, 0, (size_t)(high - low + 1) * 4);
    const uint8_t *cell = (const uint8_t *)rows + column;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int a = 0; a < 4; a++) counts[a][cell[(i + a) * WIDTH]]++;
    for (; i < n; i++) counts[0][cell[i * WIDTH]]++;
    int64_t below = 0, best = 0;
    int cut = -1;
    for (int v = low; v < high; v++) {
        below += (int64_t)counts[0][v] + counts[1][v] + counts[2][v] + counts[3][v];
        int64_t smaller = below < n - below ? below : n - below;
        if (smaller >= best) { best = smaller; cut = v; *left = below; }
        if (below * 2 >= n) break; /* behind the middle the halves only grow more unlike */
    }
    return best >= k ? cut : -1;
}

static void split(const record *rows, int64_t n, int column, int cut, record *into) {
    record *left = into, *right = into + n - 1;
    const uint8_t *cell = (const uint8_t *)rows + column;
    for (int64_t i = 0; i < n; i++) { /* written to both ends, kept at one: no branch */
        record row = rows[i];
        int64_t goes_left = cell[i * WIDTH] <= cut;
        *left = row;
        *right = row;
        left += goes_left;
        right -= 1 - goes_left;
    }
}

/* Cut one segment by the widest column that allows it; returns the size of its left side or 0. */
static int64_t cut_segment(segment s, int64_t k, const double *scale) {
    extent e = extent_of(s.here, s.n);
    uint8_t low[WIDTH], high[WIDTH];
    double range[COLUMNS];
    memcpy(low, &e.low, WIDTH);
    memcpy(high, &e.high, WIDTH);
    for (int c = 0; c < COLUMNS; c++) range[c] = (double)(high[c] - low[c]) * scale[c];
    for (int tries = 0; tries < COLUMNS; tries++) {
        int widest = 0;
        for (int c = 1; c < COLUMNS; c++) if (range[c] > range[widest]) widest = c;
        if (range[widest] <= 0) return 0;
        int64_t left = 0;
        int cut = cut_of(s.here, s.n, widest, low[widest], high[widest], k, &left);
        if (cut >= 0) {
            split(s.here, s.n, widest, cut, s.there);
            return left;
        }
        range[widest] = 0;
    }
    return 0;
}

static int64_t partition(record *rows, record *room, int64_t n, int64_t k, const double *scale) {
    segment stack[STACK];
    int top = 0;
    int64_t cells = 0;
    stack[top++] = (segment){rows, room, n};
    while (top > 0) {
        segment s = stack[--top];
        int64_t left = s.n < 2 * k ? 0 : cut_segment(s, k, scale);
        if (left == 0) { cells++; continue; }
        stack[top++] = (segment){s.there + left, s.here + left, s.n - left};
        stack[top++] = (segment){s.there, s.here, left};
    }
    return cells;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static record *aligned(int64_t n) {
    record *rows = aligned_alloc(64, ((size_t)n * WIDTH + 63) / 64 * 64);
    if (rows == NULL) { fputs("out of memory\n", stderr); exit(1); }
    memset(rows, 0, (size_t)n * WIDTH);
    return rows;
}

int main(int argc, char **argv) {
    FILE *file = argc == 4 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL) { fputs("usage: mondrian_baseline FILE K RUNS\n", stderr); return 2; }
    fseek(file, 0, SEEK_END);
    int64_t n = ftell(file) / WIDTH, k = atoll(argv[2]), cells = 0;
    if (n < 1 || k < 1) { fputs("no records, or k below 1\n", stderr); return 2; }
    rewind(file);
    record *raw = aligned(n), *rows = aligned(n), *room = aligned(n);
    if (fread(raw, WIDTH, (size_t)n, file) != (size_t)n) return 1;
    fclose(file);
    extent whole = extent_of(raw, n);
    double scale[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        int range = whole.high[c] - whole.low[c];
        scale[c] = range > 0 ? 1.0 / range : 0.0;
    }
    printf("{\"seconds\": [");
    for (int run = 0; run < atoi(argv[3]); run++) {
        memcpy(rows, raw, (size_t)n * WIDTH);
        double start = now();
        cells = partition(rows, room, n, k, scale);
        printf("%s%.6f", run ? ", " : "", now() - start);
    }
    printf("], \"cells\": %lld, \"rows\": %lld}\n", (long long)cells, (long long)n);
    return 0;
}
