import sys

print(sum(map(int, open(sys.argv[1]))) - 1)
