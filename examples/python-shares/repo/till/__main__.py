import sys

from till.shares import share

print(*share(int(sys.argv[1]), int(sys.argv[2])))
