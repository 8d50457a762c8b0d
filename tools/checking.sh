# Sourced by ./dev: the static checks and the formatting.

# own_sources: every C++ file of the project, one a line.
own_sources() {
  find viva cli examples bench tests -name '*.h' -o -name '*.cpp' | sort
}

format() {
  setup check
  own_sources | xargs clang-format -i
}

run_checks() {
  setup build test check
  locked configure release ON
  local failed=()
  one_check formatting check_formatting
  one_check layering python3 tools/check_layers.py
  one_check names python3 tools/check_names.py
  one_check snippets python3 tools/check_snippets.py
  one_check clang-tidy python3 tools/check_tidy.py build/release
  [[ ${#failed[@]} -eq 0 ]] || die "check: failed: ${failed[*]}"
  say "all checks passed"
}

# one_check NAME COMMAND…: goes on after a failure, so that one run shows all of them.
one_check() {
  local name=$1
  shift
  say "$name"
  SECONDS=0
  if "$@"; then say "$name: passed, $SECONDS s"; else failed+=("$name"); fi
}

check_formatting() {
  own_sources | xargs clang-format --dry-run -Werror || {
    echo "./dev format puts it right"
    return 1
  }
}
