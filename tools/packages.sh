# Sourced by ./dev: installs the Debian packages of tools/debian-packages.txt that are missing, and rivals from PyPI.

# packages_of GROUP…: their packages, one a line.
packages_of() {
  awk -v groups=" $* " '$1 !~ /^#/ && NF && index(groups, " " $1 " ") { print $2 }' tools/debian-packages.txt
}

# missing_packages GROUP…: those of their packages that are not installed, one a line.
missing_packages() {
  local wanted
  mapfile -t wanted < <(packages_of "$@")
  comm -23 <(printf '%s\n' "${wanted[@]}" | sort -u) \
    <(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null |
      awk '$2 == "installed" { print $1 }' | sort -u)
}

# newest_rivals: PyTorch and JAX as PyPI has them, in an environment of their own; says why where it cannot be.
newest_rivals() {
  local environment=build/rivals-venv free
  "$environment/bin/python" -c 'import jax, torch' 2>/dev/null && return 0
  free=$(df --output=avail -BG . | tail -1 | tr -dc 0-9)
  if [[ $free -lt 15 ]]; then
    say "PyTorch's and JAX's newest versions skipped: they take 6 GB, and of 15 GB that should be free there are $free"
    return 0
  fi
  say "installing the newest PyTorch and JAX in $environment"
  /usr/bin/python3 -m venv "$environment" >&2 && "$environment/bin/pip" install -q torch jax numpy >&2 && return 0
  rm -rf "$environment"
  say "PyTorch's and JAX's newest versions skipped: pip could not install them"
}

# setup [GROUP…]
setup() {
  [[ $# -gt 0 ]] || set -- build test check
  install_packages "$@"
  if [[ " $* " == *" rivals "* ]]; then newest_rivals; fi
}

# install_packages GROUP…
install_packages() {
  local group missing as_root=()
  for group; do
    [[ -n $(packages_of "$group") ]] || die "setup: no packages for '$group'; groups: build test check rivals"
  done
  # Elsewhere than on Debian the libraries may be there under other names: CMake says what it does not find.
  command -v apt-get >/dev/null && command -v dpkg-query >/dev/null || return 0
  mapfile -t missing < <(missing_packages "$@")
  [[ ${#missing[@]} -gt 0 ]] || return 0

  local install=(apt-get install -y --no-install-recommends "${missing[@]}")
  if [[ $EUID -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      say "packages are missing, and installing them needs root. Give this line to an administrator:"
      echo "apt-get update && ${install[*]}"
      exit 1
    fi
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -q >&2 || die "setup: apt-get update failed"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}" >&2 || die "setup: apt-get install failed"
}

# setup_for_preset PRESET: what configuring and building it needs.
setup_for_preset() {
  case $1 in
    release | dev | asan | tsan | fuzz) setup build test ;;
    *) die "unknown preset '$1'; presets: dev release asan tsan fuzz" ;;
  esac
}
