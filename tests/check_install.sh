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
for file in bin/imgstat include/imgstat.h include/imgstat_async.h share/man/man1/imgstat.1 share/bash-completion/completions/imgstat \
    share/zsh/site-functions/_imgstat share/fish/vendor_completions.d/imgstat.fish; do
    [ -s "$prefix/$file" ] || fail "$file is not installed"
done
pass "program, header, man page, completions"
[ "$(find "$prefix/include" -type f | wc -l)" -eq 2 ] || fail "other headers are installed than imgstat.h and imgstat_async.h"
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
# A program with a file_open of its own could not be linked with the static library.
foreign=$(nm -g --defined-only "$lib/libimgstat.a" 2>/dev/null | awk 'NF == 3 { print $3 }' |
    grep -vE '^(imgstat[_.]|_)' | head -n 5 || true)
[ -z "$foreign" ] || fail "names of the static library that programs may have: $foreign"
# An archive of -flto could not be installed: objcopy refuses to rename its functions, and left files behind.
mkdir "$work/lto"
echo 'int shared_name(void); int shared_name(void) { return 1; }' >"$work/lto.c"
if "$cc" -flto -c "$work/lto.c" -o "$work/lto.o" 2>/dev/null && ar rcsD "$work/lto/lib.a" "$work/lto.o" 2>/dev/null; then
    cp "$work/lto/lib.a" "$work/before.a"
    cmake -DARCHIVE="$work/lto/lib.a" -DNM=nm -DOBJCOPY=objcopy -P "$tests/../tools/cmake/private_names.cmake" >"$work/told" 2>&1 ||
        fail "an archive of -flto is not installed: $(cat "$work/told")"
    [ "$(ls -A "$work/lto")" = lib.a ] || fail "files are left beside an archive of -flto"
    cmp -s "$work/lto/lib.a" "$work/before.a" || ! grep -q Warning "$work/told" || fail "an archive of -flto was changed"
    pass "an archive of -flto"
fi
exported=$(nm -D --defined-only "$lib/libimgstat.so" | grep -c ' T imgstat_')
declared=$(grep -oh 'imgstat_[a-z0-9_]*(' "$prefix"/include/imgstat*.h | sort -u | wc -l)
[ "$exported" -eq "$declared" ] || {
    grep -oh 'imgstat_[a-z0-9_]*(' "$prefix"/include/imgstat*.h | tr -d '(' | sort -u >"$work/declared"
    nm -D --defined-only "$lib/libimgstat.so" | awk '{ print $3 }' | sort -u | diff "$work/declared" - || true
    fail "$exported functions exported, $declared declared"
}
pass "$exported functions exported, all of them declared"

"$prefix/bin/imgstat" --version >/dev/null || fail "imgstat --version"
ldd "$prefix/bin/imgstat" | grep -q "$prefix/.*libimgstat" || fail "the program does not load the library beside it"
pass "the program runs with the library of its own prefix"
for document in LICENSE README.md CHANGELOG.md docs/building.md docs/examples/normalize_files.c; do
    [ -s "$prefix/share/doc/imgstat/$document" ] || fail "$document is not installed"
done
man=$(sed -n 's/^\.TH //p' "$prefix/share/man/man1/imgstat.1")
case $man in
'IMGSTAT 1 "20'[0-9][0-9]-[0-9][0-9]-[0-9][0-9]'" "imgstat '[0-9]*) pass "licence, documents, a dated man page" ;;
*) fail "the man page starts with '$man'" ;;
esac
for command in $("$prefix/bin/imgstat" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    grep -q '^\.SH OPTIONS' "$prefix/share/man/man1/imgstat-$command.1" || fail "imgstat-$command.1 is not installed"
done

# ---- Hardened -----------------------------------------------------------------------------------

for file in "$prefix/bin/imgstat" "$lib/libimgstat.so" "$lib/imgstat/libimgstat-cuda.so"; do
    [ -e "$file" ] || continue
    readelf -Wlhd "$file" >"$work/elf"
    for wanted in 'Type: *DYN' ' GNU_RELRO ' ' GNU_STACK .* RW  ' '(FLAGS_1).* NOW'; do
        grep -q "$wanted" "$work/elf" || fail "$file: no '$wanted' in readelf's output"
    done
    ! grep -q TEXTREL "$work/elf" || fail "$file is relocated in its code"
done
! readelf -Wd "$prefix/bin/imgstat" "$build/imgstat" | grep -qE 'RUNPATH.*(\[:|::|:\])' ||
    fail "libraries are looked for in the working directory"
nm -D "$lib/libimgstat.so" >"$work/elf"
grep -q '__stack_chk_fail' "$work/elf" || fail "no protection of the stack"
grep -q '^CMAKE_BUILD_TYPE:.*=Debug' "$build/CMakeCache.txt" || grep -q '__read_chk' "$work/elf" || fail "no _FORTIFY_SOURCE"
if [ "$(uname -m)" = x86_64 ]; then
    objects=$(ar t "$lib/libimgstat.a" | wc -l)
    checked=$(readelf -n "$lib/libimgstat.a" | grep -c 'x86 feature: .*IBT, SHSTK' || true)
    [ "$checked" -eq "$objects" ] || fail "of $objects objects $checked check where jumps lead"
fi
pass "hardened: PIE, RELRO, bindings, stack, calls of libc, jumps"

# ---- How large ----------------------------------------------------------------------------------

# Without symbols, as packages are: the static library is the copy that only --component development holds.
cmake --install "$build" --prefix "$work/strip" --strip >/dev/null
rm "$(find "$work/strip" -name libimgstat.a)"
rm -r "$work/strip/share/doc" # pictures
kib=$(du -sk "$work/strip" | awk '{ print $1 }')
most=4096
[ -z "$(find "$work/strip" -name 'libimgstat-cuda.so')" ] || most=20480
[ "$kib" -le "$most" ] || fail "$kib KiB are installed, and $most are allowed"
pass "$kib of at most $most KiB installed"

# ---- The CUDA module ----------------------------------------------------------------------------

# absent WHAT REASON: whether `devices`, with the environment that it is called in, gives that reason.
absent() {
    "$prefix/bin/imgstat" devices >"$work/devices" || fail "imgstat devices"
    grep -q "^cuda  *absent: $2\$" "$work/devices" || {
        cat "$work/devices"
        fail "the module $1"
    }
    pass "the module $1"
}
module=$lib/imgstat/libimgstat-cuda.so
unset IMGSTAT_CUDA_MODULE
if [ -e "$module" ]; then
    exported=$(nm -D --defined-only "$module" | awk '{ print $3 }')
    [ "$exported" = imgstat_device_module ] || fail "the module exports '$exported'"
    pass "the module exports one function"
    "$prefix/bin/imgstat" --version | grep -q '^built for: cpu, cuda$' || fail "the moved module is not found"
    ! "$prefix/bin/imgstat" devices | grep -q 'was not found' || fail "the moved module is not found"
    ! LD_DEBUG=files "$prefix/bin/imgstat" "$tests/../testdata/photo.tif" 2>&1 | grep -q libimgstat-cuda ||
        fail "the module is opened for the CPU"
    pass "the moved module is found, and left alone by the CPU"
    mv "$module" "$work/module.so"
    "$prefix/bin/imgstat" --version | grep -q '^built for: cpu$' || fail "a module that is gone is listed"
    IMGSTAT_CUDA_MODULE=$work/module.so "$prefix/bin/imgstat" --version | grep -q '^built for: cpu, cuda$' ||
        fail "IMGSTAT_CUDA_MODULE"
    pass "IMGSTAT_CUDA_MODULE names the module"
fi
absent "is not there" "libimgstat-cuda.so was not found"
IMGSTAT_CUDA_MODULE=/nowhere/module.so
export IMGSTAT_CUDA_MODULE
absent "is not where IMGSTAT_CUDA_MODULE says" "/nowhere/module.so was not found"
IMGSTAT_CUDA_MODULE=$lib/libimgstat.so
absent "is another library" "$lib/libimgstat.so is no module of imgstat"
cat >"$work/old.c" <<'OLD'
#include <stdint.h>
static const struct { uint32_t interface; const char *version; } module = {1, "0.0.1"};
const void *imgstat_device_module(void);
const void *imgstat_device_module(void) { return &module; }
OLD
"$cc" -shared -fPIC "$work/old.c" -o "$work/old.so"
IMGSTAT_CUDA_MODULE=$work/old.so
version=$("$prefix/bin/imgstat" --version | awk 'NR == 1 { print $2 }')
absent "is older" "$work/old.so is of version 0.0.1, this library needs $version"
sed "s/0\.0\.1/$version/" "$work/old.c" >"$work/build.c"
"$cc" -shared -fPIC "$work/build.c" -o "$work/old.so"
absent "is of another build" "$work/old.so is of another build of version $version"
unset IMGSTAT_CUDA_MODULE

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
