. lib/total.sh
is "a sum" "$(printf '1\n2\n3\n' | total)" 6
is "nothing" "$(printf '' | total)" 0
is "a last line without its end" "$(printf '1\n2' | total)" 3
