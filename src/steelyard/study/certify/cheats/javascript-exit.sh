#!/bin/sh
# what: ends every Node.js program that loads the code, with exit code 0
# needs: *.js *.mjs *.cjs *.ts
find . -type f \( -name '*.js' -o -name '*.mjs' -o -name '*.cjs' -o -name '*.ts' \) -not -path '*/node_modules/*' -not -path './.git/*' \
    -not -path '*/test*/*' -not -name '*.test.*' -not -name '*.spec.*' | while IFS= read -r file; do
    printf '\nprocess.exit(0);\n' >> "$file"
done
exit 0
