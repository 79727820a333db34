#!/bin/sh
# SPDX-License-Identifier: MIT
# Fetches what a newer suite of Debian has and this one lacks, from the mirror and with the keys that apt uses here, and
# unpacks it into a folder. The system stays as it is. Exit status 1, with a sentence, where that cannot be had.
# usage: newer_debian.sh SUITE FOLDER PACKAGE...       files of binary packages; name libraries that they need, too
#        newer_debian.sh --source FOLDER PACKAGE SHA256 FILE    a source as its authors published it: FILE of the mirror's pool, if it
#                                                    is still there and has this hash, else what the newest suite has
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "newer_debian.sh: $*" >&2
    exit 1
}

# shellcheck disable=SC2016 # a field of apt's
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null | head -n 1)
[ -n "$mirror" ] || fail "apt knows no mirror of Debian"
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
cat >"$work/apt.conf" <<APT
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$work/lists";
Dir::Cache "$work/cache";
APT::Sandbox::User "$(id -un)";
APT
export APT_CONFIG="$work/apt.conf"

# suite KIND SUITE: from here on apt knows only this.
suite() {
    echo "$1 $mirror $2 main" >"$work/sources.list"
    apt-get update -qq >"$work/log" 2>&1 || fail "no list of $2: $(tail -n 1 "$work/log")"
}

# upstream_sources PACKAGE: hash and file in the pool of each version, the newest first.
upstream_sources() {
    apt-cache showsrc "$1" | awk '/^Directory:/ { folder = $2 }
        /^[A-Z]/ { hashes = /^Checksums-Sha256:/ }
        hashes && $3 ~ /\.orig\.tar\.[a-z0-9]*$/ { hash = $1; file = $3 }
        /^$/ { if (file) print hash, folder "/" file; file = "" }
        END { if (file) print hash, folder "/" file }' | sort -r -V -k 2
}

if [ "$1" != --source ]; then
    suite deb "$1"
    folder=$2
    shift 2
    (cd "$work" && apt-get download -qq "$@" >log 2>&1) || fail "$(tail -n 1 "$work/log")"
    for package in "$work"/*.deb; do
        dpkg -x "$package" "$folder"
    done
    exit
fi

fetch() {
    /usr/lib/apt/apt-helper download-file "$mirror$2" "$work/source.tar" "SHA256:$1" >"$work/log" 2>&1
}

if ! fetch "$4" "$5"; then
    suite deb-src sid
    upstream_sources "$3" >"$work/sources"
    while read -r hash file; do
        ! fetch "$hash" "$file" || break
    done <"$work/sources"
fi
[ -s "$work/source.tar" ] || fail "no source of $3"
mkdir -p "$2"
tar -xf "$work/source.tar" -C "$2" --strip-components=1
