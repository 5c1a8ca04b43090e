/* A bare loop of SipHash-2-4 over texts that lie behind one another, and nothing else.
   Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012. */
#include <stdint.h>
#include <string.h>

#define ROTATE(x, b) (((x) << (b)) | ((x) >> (64 - (b))))
#define ROUND                                                  \
    v0 += v1; v1 = ROTATE(v1, 13); v1 ^= v0; v0 = ROTATE(v0, 32); \
    v2 += v3; v3 = ROTATE(v3, 16); v3 ^= v2;                      \
    v0 += v3; v3 = ROTATE(v3, 21); v3 ^= v0;                      \
    v2 += v1; v1 = ROTATE(v1, 17); v1 ^= v2; v2 = ROTATE(v2, 32);

void hash_texts(const int32_t *offsets, const uint8_t *data, uint64_t key0, uint64_t key1,
                uint64_t *hashes, int64_t texts) {
    for (int64_t i = 0; i < texts; i++) {
        const uint8_t *at = data + offsets[i];
        uint64_t length = (uint64_t)(offsets[i + 1] - offsets[i]);
        uint64_t v0 = key0 ^ 0x736F6D6570736575ULL, v1 = key1 ^ 0x646F72616E646F6DULL;
        uint64_t v2 = key0 ^ 0x6C7967656E657261ULL, v3 = key1 ^ 0x7465646279746573ULL;
        uint64_t word, last = length << 56;
        const uint8_t *end = at + (length & ~7ULL);
        for (; at < end; at += 8) {
            memcpy(&word, at, 8);
            v3 ^= word; ROUND ROUND v0 ^= word;
        }
        switch (length & 7) {
            case 7: last |= (uint64_t)at[6] << 48; /* fall through */
            case 6: last |= (uint64_t)at[5] << 40; /* fall through */
            case 5: last |= (uint64_t)at[4] << 32; /* fall through */
            case 4: last |= (uint64_t)at[3] << 24; /* fall through */
            case 3: last |= (uint64_t)at[2] << 16; /* fall through */
            case 2: last |= (uint64_t)at[1] << 8;  /* fall through */
            case 1: last |= at[0];
        }
        v3 ^= last; ROUND ROUND v0 ^= last;
        v2 ^= 0xFF; ROUND ROUND ROUND ROUND
        hashes[i] = v0 ^ v1 ^ v2 ^ v3;
    }
}
