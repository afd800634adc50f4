/* Prints what the ring does; what it should do is in expected.txt, which this program never reads. */
#include "ring.h"

#include <stdio.h>
#include <string.h>

static void show(const char *what, struct ring *ring)
{
    printf("%s:", what);
    for (size_t at = 0; at <= ring->capacity; at++)
        printf(" %d", ring_peek(ring, at));
    printf(" (%zu)\n", ring->count);
}

static void write_text(struct ring *ring, const char *text)
{
    printf("write %s: %zu\n", text, ring_write(ring, (const unsigned char *)text, strlen(text)));
}

static void read_bytes(struct ring *ring, size_t length)
{
    unsigned char out[32] = {0};
    size_t got = ring_read(ring, out, length);
    printf("read %zu: %zu \"%.*s\"\n", length, got, (int)got, (const char *)out);
}

int main(void)
{
    struct ring ring;

    printf("capacity 0: %d\n", ring_init(&ring, 0));
    ring_init(&ring, 1);
    show("empty", &ring);
    write_text(&ring, "xy");
    write_text(&ring, "z");
    show("one", &ring);
    read_bytes(&ring, 2);
    ring_free(&ring);

    ring_init(&ring, 5);
    write_text(&ring, "abcdefgh");
    show("full", &ring);
    read_bytes(&ring, 3);
    show("after a read", &ring);
    write_text(&ring, "XYZW");
    show("wrapped", &ring);
    read_bytes(&ring, 9);
    show("drained", &ring);
    for (int round = 0; round < 7; round++) {
        write_text(&ring, "1234");
        read_bytes(&ring, 4);
    }
    ring_free(&ring);
    return 0;
}
