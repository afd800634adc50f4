#include "ring.h"

#include <stdlib.h>

bool ring_init(struct ring *ring, size_t capacity)
{
    ring->bytes = capacity ? calloc(capacity, 1) : NULL;
    ring->capacity = capacity;
    ring->head = 0;
    ring->count = 0;
    return ring->bytes != NULL;
}

void ring_free(struct ring *ring)
{
    free(ring->bytes);
    ring->bytes = NULL;
    ring->capacity = ring->head = ring->count = 0;
}

static size_t slot(const struct ring *ring, size_t at)
{
    return (ring->head + at) % ring->capacity;
}

size_t ring_write(struct ring *ring, const unsigned char *from, size_t length)
{
    size_t done = 0;

    while (done < length && ring->count <= ring->capacity) {
        ring->bytes[slot(ring, ring->count)] = from[done++];
        ring->count++;
    }
    return done;
}

size_t ring_read(struct ring *ring, unsigned char *to, size_t length)
{
    size_t done = 0;

    while (done < length && ring->count > 0) {
        to[done++] = ring->bytes[ring->head];
        ring->head = slot(ring, 1);
        ring->count--;
    }
    return done;
}

int ring_peek(const struct ring *ring, size_t at)
{
    if (at > ring->count)
        return -1;
    return ring->bytes[slot(ring, at)];
}
