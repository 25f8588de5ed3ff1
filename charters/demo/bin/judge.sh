#!/bin/sh
# The judge: gets what all workers found, as quoted text, and answers with one ranked list.
# `top N` on the first line says how long the list may be (20 if it does not).
#
# It drops doubles, then ranks by severity; within one severity the kinds of finding take turns, so that forty long
# functions do not hide the one conflict marker, and so do the files; a file that many findings name comes first.
# It prints, parted by tabs:
#   high|medium|low  file  line  what          the ranking
#   sum  kind  files  findings  unread         what each kind of worker did, added up
LC_ALL=C
export LC_ALL
awk '
BEGIN { FS = OFS = "\t"; top = 20; weight["high"] = 9; weight["medium"] = 3; weight["low"] = 1 }
NR == 1 && /^top [0-9]+$/ { top = substr($0, 5) + 0; next }
{ sub(/^[ >|]+/, "") } # whatever the quotation puts before a line
$1 == "sum" && NF == 6 { files[$2] += $3; found[$2] += $4; unread[$2] += $6; next }
($1 in weight) && NF == 4 && $3 ~ /^[0-9]+$/ && !(($2, $3, $4) in seen) {
  seen[$2, $3, $4] = 1
  total++; severity[total] = $1; path[total] = $2; line[total] = $3; what[total] = $4
  heat[$2] += weight[$1]
}
END {
  for (i = 1; i <= total; i++) {
    kind = what[i]; sub(/:.*/, "", kind); size = what[i]; sub(/^[^0-9]*/, "", size)
    print "1", weight[severity[i]], kind, heat[path[i]], size + 0, severity[i], path[i], line[i], what[i]
  }
  for (kind in files) print "2", 0, kind, 0, 0, "sum", kind, files[kind] + 0, found[kind] + 0, unread[kind] + 0
  print "0", 0, "", 0, 0, top
}' |
  sort -t "$(printf '\t')" -k1,1n -k2,2nr -k3,3 -k4,4nr -k5,5nr -k7,7 -k8,8n |
  # Within a severity every kind has a queue by now; number the places so that the queues can take turns.
  awk '
BEGIN { FS = OFS = "\t" }
$1 == "0" { top = $6; next }
{ place = ++taken[$2, $3] + 1000 * repeats[$2, $3, $7]++ } # the second finding in one file comes after the firsts of others
$1 == "1" { print "1", $2, place, top, $6, $7, $8, $9 }
$1 == "2" { print "2", 0, 0, top, $6, $7, $8, $9, $10 }' |
  sort -t "$(printf '\t')" -k1,1n -k2,2nr -k3,3n -k6,6 -k7,7n |
  awk 'BEGIN { FS = OFS = "\t" } $1 == "2" || NR <= $4 { fields = NF; text = $5; for (i = 6; i <= fields; i++) text = text OFS $i; print text }'
