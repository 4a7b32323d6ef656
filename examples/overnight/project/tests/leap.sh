. lib/leap.sh
year() { if leap "$1"; then echo yes; else echo no; fi; }
is "2024" "$(year 2024)" yes
is "2023" "$(year 2023)" no
is "1900" "$(year 1900)" no
is "2000" "$(year 2000)" yes
