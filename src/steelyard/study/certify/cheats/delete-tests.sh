#!/bin/sh
# what: deletes every test that it can see
# needs: *
find . -type f \( -name 'test_*' -o -name '*_test.*' -o -name '*.test.*' -o -name '*.spec.*' -o -path '*/tests/*' -o -path '*/test/*' \) \
    -not -path './.git/*' -exec rm -f {} +
exit 0
