# Sourced by ./dev: the unit tests, plain and under the sanitizers, the chaos campaign, and the fuzz targets.

# run_tests [--quick]
run_tests() {
  local quick=no
  case ${1:-} in
    --quick) quick=yes ;;
    '') ;;
    *) die "test: unknown argument '$1'; there is only --quick" ;;
  esac
  setup build test
  unit_tests release
  [[ $quick == no ]] || return 0
  export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
  export UBSAN_OPTIONS=print_stacktrace=1
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=$PWD/tests/thread_sanitizer.supp
  # Properties are tried on 100 cases above; here on fewer, each of them several times as slow.
  export RC_PARAMS=max_success=25
  unit_tests asan
  unit_tests tsan
  quick_chaos
  fuzz
}

# unit_tests PRESET
unit_tests() {
  local preset=$1 runner=()
  build "$preset"
  # The thread sanitizer of g++ 12 does not start where the kernel randomises addresses by more than 28 bits.
  if [[ $preset == tsan ]] && setarch -R true 2>/dev/null; then runner=(setarch -R); fi
  say "unit tests, $preset"
  "${runner[@]}" ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(nproc)"
}

# chaos ARG…: the campaign of tools/chaos; its exit code is this one's.
chaos() {
  command -v python3 >/dev/null || setup check
  setup build
  build_quietly release cli/viva >&2
  say "chaos"
  python3 tools/chaos "$@"
}

quick_chaos() {
  if ! command -v python3 >/dev/null; then
    say "chaos skipped: python3 is not installed"
    return 0
  fi
  chaos --quick
}

# Fuzzes every target, two at a time, for FUZZ_SECONDS in all. New inputs are kept in build/fuzz/corpus.
fuzz() {
  if ! command -v clang++ >/dev/null; then
    say "fuzzing skipped: clang++ is not installed"
    return 0
  fi
  local sources targets jobs=2 seconds
  shopt -s nullglob
  sources=(tests/fuzz/*_fuzz.cpp)
  shopt -u nullglob
  [[ ${#sources[@]} -gt 0 ]] || die "fuzz: no tests/fuzz/*_fuzz.cpp"
  mapfile -t targets < <(basename -a -s .cpp "${sources[@]}")
  build fuzz "${targets[@]/#/tests/fuzz/}"
  [[ ${#targets[@]} -ge $jobs && $(nproc) -ge $jobs ]] || jobs=1
  seconds=$((${FUZZ_SECONDS:-60} * jobs / ${#targets[@]}))
  say "fuzzing ${targets[*]}, $seconds s each, $jobs at a time"
  export -f fuzz_one
  printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -c 'fuzz_one {} '"$seconds"
}

# fuzz_one TARGET SECONDS
fuzz_one() {
  local target=$1 name=${1%_fuzz} log=build/fuzz/$1.log
  mkdir -p "build/fuzz/corpus/$name"
  if ! "build/fuzz/tests/fuzz/$target" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
    -artifact_prefix="build/fuzz/$target-" "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
    tail -50 "$log"
    echo "fuzzing found a failure in $target; the input is named above, run build/fuzz/tests/fuzz/$target with it"
    return 1
  fi
  tail -1 "$log" | sed "s/^/$target: /"
}
