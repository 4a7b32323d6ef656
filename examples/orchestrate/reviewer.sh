#!/bin/sh
# Stands in for the program of a model: it reads a task from standard input and prints a review.
set -eu

task=$(cat)
if [ -z "$task" ]; then
  echo "the task is empty" >&2
  exit 2 # Another attempt would not help.
fi
if [ ! -e temp/called ]; then
  mkdir -p temp
  touch temp/called
  echo "the model is overloaded" >&2
  exit 1 # Another attempt may help.
fi
printf '## %s\n\nA %s review by nobody.\n\n' "$task" "$1"
