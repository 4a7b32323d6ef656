. lib/slug.sh
is "two words" "$(slug 'two words')" two-words
is "capitals" "$(slug 'Two Words')" two-words
is "signs" "$(slug 'Well, well!')" well-well
