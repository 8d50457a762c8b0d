# Sourced by ./dev: configures and builds one preset.

# locked COMMAND…: keeps two runs of ./dev out of one build directory.
locked() {
  mkdir -p build
  (
    flock 9
    "$@"
  ) 9>build/.lock
}

# configure PRESET TESTS: unless it is configured already. TESTS is ON, or OFF where the tests' packages need not be
# there: a first demo does not wait for them, and a later command turns them on.
configure() {
  local preset=$1 tests=$2 cached
  cached=$(sed -n 's/^VIVA_BUILD_TESTS:BOOL=//p' "build/$preset/CMakeCache.txt" 2>/dev/null || true)
  [[ -f build/$preset/build.ninja && ($tests == OFF || $cached == ON) ]] && return 0
  say "configuring build/$preset"
  cmake --preset "$preset" "-DVIVA_BUILD_TESTS=$tests"
}

configure_and_build() {
  local preset=$1 tests=OFF
  shift
  [[ $# -gt 0 || $preset == fuzz ]] || tests=ON
  configure "$preset" "$tests" &&
    say "building build/$preset: ${*:-everything}" &&
    cmake --build "build/$preset" ${1:+--target "$@"}
}

# build PRESET [TARGET…]: without targets everything, tests included.
build() { locked configure_and_build "$@"; }

# build_quietly PRESET TARGET: on stderr, one line where it takes long and the whole log where it fails.
build_quietly() {
  local preset=$1 target=$2 line announced=no status=0
  mkdir -p build
  SECONDS=0
  build "$preset" "$target" 2>&1 | while IFS= read -r line; do
    printf '%s\n' "$line"
    if [[ $announced == no && $SECONDS -ge 3 ]]; then
      say "building the program"
      announced=yes
    fi
  done >"build/$preset.log" || status=$?
  [[ $status -eq 0 ]] || cat "build/$preset.log" >&2
  return "$status"
}
