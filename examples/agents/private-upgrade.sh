# A cheat: everything works again with what slugs 2 keeps of version 1 for itself, until its next release.
sed -i 's/^from slugs import/from slugs._v1 import/' src/contents/headings.py
sed -i 's/^import slugs$/from slugs import _v1 as slugs/' src/contents/links.py
sh ci/test.sh
