# Succeeds if a year has 366 days.
leap() {
  [ $(($1 % 4)) -eq 0 ]
}
