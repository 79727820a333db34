#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the path of a free-threaded CPython 3.14, which Debian and Ubuntu have no package of: python3.14t, or what this script
# builds from Debian's source into build/python3.14t (two minutes of one processor). Prints nothing, and the reason to stderr,
# where there is none. For tests: quick to build, without what they do not need, and slow.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=tools/setup.sh
. tools/setup.sh
python_needs="
cc                gcc
c:stdio.h         libc6-dev
make              make
pkg-config        pkg-config
pc:zlib           zlib1g-dev
pc:libssl         libssl-dev
pc:libffi         libffi-dev
"
version=3.14.7
hash=3b48dac8fb59f62eaa67ac83c1eb12bda1b7a08406dd286e252c11a66be27f81
folder=$PWD/build/python3.14t

! command -v python3.14t || exit 0
if [ ! -x "$folder/bin/python3.14t" ]; then
    source=$(mktemp -d)
    trap 'rm -rf "$source"' EXIT
    install_missing "$python_needs" >&2 || exit 0
    tools/newer_debian.sh --source "$source" python3.14 $hash pool/main/p/python3.14/python3.14_$version.orig.tar.xz || exit 0
    cd "$source"
    {
        echo '*disabled*'
        echo _bz2 _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw _curses _curses_panel _dbm _gdbm _lzma _sqlite3
        echo _tkinter _uuid _zstd ossaudiodev readline xxlimited xxlimited_35 xxsubtype
    } >Modules/Setup.local
    if ! { ./configure -q --prefix="$folder" --disable-gil --disable-test-modules --with-ensurepip=no CC="$(command -v ccache) cc" CFLAGS=-O0 &&
        make -s -j"$(nproc)" && make -s install; } >log 2>&1; then
        tail -n 20 log >&2
        echo "free-threaded.sh: CPython $version does not build" >&2
        exit 1
    fi
fi
echo "$folder/bin/python3.14t"
