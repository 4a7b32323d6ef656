# Prints the sum of the numbers on standard input, one on a line.
total() {
  sum=0
  while read -r number; do
    sum=$((sum + number))
  done
  echo "$sum"
}
