#include "ring.h"

#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(claim)                                                \
    do {                                                            \
        if (!(claim)) {                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #claim); \
            failures++;                                             \
        }                                                           \
    } while (0)

static void what_goes_in_comes_out(void)
{
    struct ring ring;
    unsigned char out[8] = {0};

    CHECK(ring_init(&ring, 8));
    CHECK(ring_write(&ring, (const unsigned char *)"abc", 3) == 3);
    CHECK(ring_peek(&ring, 1) == 'b');
    CHECK(ring_read(&ring, out, 8) == 3);
    CHECK(memcmp(out, "abc", 3) == 0);
    CHECK(ring_read(&ring, out, 1) == 0);
    ring_free(&ring);
}

static void a_full_ring_stores_nothing(void)
{
    struct ring ring;

    CHECK(ring_init(&ring, 4));
    CHECK(ring_write(&ring, (const unsigned char *)"abcd", 4) == 4);
    CHECK(ring_write(&ring, (const unsigned char *)"e", 1) == 0);
    CHECK(ring_peek(&ring, 0) == 'a');
    ring_free(&ring);
}

int main(void)
{
    what_goes_in_comes_out();
    a_full_ring_stores_nothing();
    if (failures == 0)
        puts("ok");
    return failures != 0;
}
