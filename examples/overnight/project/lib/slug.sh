# Prints a title as a part of an address: small letters and digits, with dashes between the words.
slug() {
  printf '%s\n' "$1" | tr ' ' '-'
}
