#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs a build into a temporary folder and uses it as a stranger would.
# usage: check_install.sh BUILD_FOLDER [C_COMPILER]
set -eu
build=${1:?usage: check_install.sh BUILD_FOLDER [C_COMPILER]}
cc=${2:-cc}
tests=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset DESTDIR # set around a test, it would move every installation

fail() {
    echo "FAILED: $*" >&2
    exit 1
}
checks=0
pass() {
    checks=$((checks + 1))
    echo "ok: $*"
}

# ---- What is put where --------------------------------------------------------------------------

DESTDIR=$work/root cmake --install "$build" --prefix /usr >/dev/null
[ -x "$work/root/usr/bin/imgstat" ] || fail "DESTDIR: no usr/bin/imgstat"
pass "DESTDIR is honoured"

cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/prefix" # an installed tree may be moved
prefix=$work/prefix
for file in bin/imgstat include/imgstat.h share/man/man1/imgstat.1 share/bash-completion/completions/imgstat \
    share/zsh/site-functions/_imgstat share/fish/vendor_completions.d/imgstat.fish; do
    [ -s "$prefix/$file" ] || fail "$file is not installed"
done
pass "program, header, man page, completions"
[ "$(find "$prefix/include" -type f | wc -l)" -eq 1 ] || fail "more than one header is installed"
pass "one header"

lib=$(dirname "$(find "$prefix" -name libimgstat.a)")
[ -e "$lib/libimgstat.so" ] || fail "no shared library beside $lib/libimgstat.a"
soname=$(objdump -p "$lib/libimgstat.so" | awk '$1 == "SONAME" { print $2 }')
case $soname in
libimgstat.so.[0-9]*) [ -e "$lib/$soname" ] || fail "the file of SONAME $soname is missing" ;;
*) fail "SONAME is '$soname'" ;;
esac
pass "SONAME $soname"

# Older linkers (binutils 2.35 of Debian 11) export names of their own.
foreign=$(nm -D --defined-only "$lib/libimgstat.so" | awk '{ print $3 }' |
    grep -vE '^(imgstat_.*|__bss_start|_edata|_end)$' || true)
[ -z "$foreign" ] || fail "exported, and no imgstat_*: $foreign"
exported=$(nm -D --defined-only "$lib/libimgstat.so" | grep -c ' T imgstat_')
declared=$(grep -o 'imgstat_[a-z_]*(' "$prefix/include/imgstat.h" | sort -u | wc -l)
[ "$exported" -eq "$declared" ] || {
    grep -o 'imgstat_[a-z_]*(' "$prefix/include/imgstat.h" | tr -d '(' | sort -u >"$work/declared"
    nm -D --defined-only "$lib/libimgstat.so" | awk '{ print $3 }' | sort -u | diff "$work/declared" - || true
    fail "$exported functions exported, $declared declared"
}
pass "$exported functions exported, all of them declared"

"$prefix/bin/imgstat" --version >/dev/null || fail "imgstat --version"
pass "the program runs"

# ---- pkg-config ---------------------------------------------------------------------------------

PKG_CONFIG_PATH=$lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
pkg-config --validate imgstat || fail "imgstat.pc is not valid"
# consume NAME COMMAND: compiles and runs. The command is one of the shell, for which pkg-config quotes what it prints.
consume() {
    name=$1
    eval "$2 -o \"\$work/\$name\"" || fail "$name does not build: $2"
    LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$work/$name" || fail "$name"
    pass "$name"
}
# shellcheck disable=SC2034 # consume expands it
source=$tests/install/consumer.c
cflags=$(pkg-config --cflags imgstat)
libs=$(pkg-config --libs imgstat)
# shellcheck disable=SC2016 # consume expands them
{
    consume c_shared '"$cc" -Wall -Wextra -Werror '"$cflags"' "$source" '"$libs"
    # Ubuntu 22.04: libtiff's list for static linking names libraries whose packages libtiff-dev does not ask for.
    static_libs=$(pkg-config --static --libs imgstat | sed 's/-limgstat//')
    echo 'int main(void) { return 0; }' >"$work/empty.c"
    if eval "\"\$cc\" \"\$work/empty.c\" $(pkg-config --static --libs libtiff-4) -o \"\$work/empty\"" 2>/dev/null; then
        consume c_static '"$cc" -Wall '"$cflags"' "$source" "$lib/libimgstat.a" '"$static_libs"
        ! ldd "$work/c_static" | grep -q libimgstat || fail "the static program loads libimgstat.so"
    else
        echo "left out: a static program (what libtiff names for one is not installed)"
    fi
    if command -v c++ >/dev/null; then
        consume cxx_shared 'c++ -Wall -Wextra '"$cflags"' -x c++ "$source" -x none '"$libs"
    else
        echo "left out: C++ (no c++ here)"
    fi
}
echo '#include <imgstat.h>' >"$work/header.c"
eval "\"\$cc\" -std=c99 -pedantic-errors -Wall -Wextra -Werror $cflags -fsyntax-only \"\$work/header.c\"" ||
    fail "header in C99"
pass "the header is C99"

# ---- CMake package ------------------------------------------------------------------------------

generator=Ninja
command -v ninja >/dev/null || generator='Unix Makefiles'
cmake -G "$generator" -S "$tests/install" -B "$work/cmake" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 &&
    cmake --build "$work/cmake" >>"$work/log" 2>&1 || {
    cat "$work/log"
    fail "find_package(imgstat)"
}
for program in with_shared with_static; do
    "$work/cmake/$program" || fail "CMake package: $program"
    pass "CMake package: $program"
done
echo "$checks checks passed"
