#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes Debian packages of the commit that is checked out, from tools/packaging/debian, in a clean chroot. Then lintian
# looks at them, and in another clean chroot they are installed, tested (tools/packaging/debian/tests, the tutorial
# among them) and removed, which must leave nothing.
# --cuda makes the package of the CUDA module (tools/packaging/debian-contrib) instead, by this machine's nvcc and not in
# a chroot: distributions have nvcc in other archives than what is free, or too old a one.
# Needs root or unprivileged user namespaces, a Debian mirror, and the packages mmdebstrap, dpkg-dev and lintian.
# usage: tools/package-deb.sh [--cuda] [FOLDER]     (default: build/packages)
# environment: SUITE (default: bookworm)  MIRROR  DEB_BUILD_OPTIONS (nocheck: without the tests of the build)
#   CUDAARCHS (GPU architectures to compile for)
set -eu
cd "$(dirname "$0")/.."
folder=debian
[ "${1-}" != --cuda ] || { folder=debian-contrib && shift; }
mkdir -p "${1:-build/packages}"
out=$(cd "${1:-build/packages}" && pwd)
suite=${SUITE:-bookworm}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

fail() {
    echo "package-deb.sh: $*" >&2
    exit 1
}
for program in mmdebstrap dpkg-source lintian; do
    command -v $program >/dev/null || fail "$program is missing (packages mmdebstrap, dpkg-dev, lintian)"
done

# in_chroot LOG SCRIPT: a new chroot with $work/in at /in, in which SCRIPT of that folder runs; /out is copied to $work.
in_chroot() {
    # shellcheck disable=SC2086 # none or one
    mmdebstrap --quiet --variant=apt --dpkgopt=force-unsafe-io --customize-hook="copy-in $work/in /" \
        --customize-hook="chroot \"\$1\" env DEB_BUILD_OPTIONS='${DEB_BUILD_OPTIONS-}' sh -eu /in/$2" \
        --customize-hook="copy-out /out $work" "$suite" /dev/null ${MIRROR-} >"$out/$1" 2>&1 && return
    tail -n 30 "$out/$1" >&2
    fail "failed; all of the output is in $out/$1 (a chroot of $suite needs a Debian mirror in reach)"
}

# look_at SOURCE: by lintian, which must find nothing. Who packages for Debian closes a report there; this is for others.
look_at() {
    lintian --allow-root --fail-on error,warning --info --suppress-tags initial-upload-closes-no-bugs \
        "$out/$1_$version.dsc" "$out/$1_$version"_*.changes || fail "lintian"
}

# ---- The source package -------------------------------------------------------------------------

version=$(dpkg-parsechangelog -l tools/packaging/$folder/changelog -S Version)
source=$(dpkg-parsechangelog -l tools/packaging/$folder/changelog -S Source)
name=$source-${version%-*}
git archive --prefix="$name/" HEAD | tee "$work/tar" | xz -T1 >"$out/${source}_${version%-*}.orig.tar.xz"
tar -xf "$work/tar" -C "$work"
cp -r "$work/$name/tools/packaging/$folder" "$work/$name/debian"
(cd "$out" && dpkg-source --build "$work/$name" >source.log) || fail "dpkg-source: $out/source.log"

if [ $folder = debian-contrib ]; then
    echo "Building $source $version"
    cp "$out/${source}_"* "$work"
    (cd "$work/$name" && PATH=$PATH:/usr/local/cuda/bin dpkg-buildpackage -us -uc -b -d) >"$out/build.log" 2>&1 || {
        tail -n 30 "$out/build.log" >&2
        fail "failed; all of the output is in $out/build.log"
    }
    mv "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$out"
    look_at "$source"
    exit
fi

# ---- Built, without network -----------------------------------------------------------------------

echo "Building imgstat $version in a chroot of $suite"
mkdir "$work/in"
cp "$out/imgstat_${version%-*}".orig.* "$out/imgstat_$version".d* "$work/in"
cat >"$work/in/build" <<'BUILD'
export DEBIAN_FRONTEND=noninteractive
mkdir /out /tmp/build
cd /tmp/build
apt-get -qq -y --no-install-recommends install build-essential iproute2
dpkg-source -x /in/imgstat_*.dsc tree
apt-get -qq -y --no-install-recommends build-dep ./tree
chown -R nobody /tmp/build
cd tree
# As where Debian builds: a loopback and nothing else. (Without any interface Open MPI's compiler says so among its options.)
unshare --net sh -c 'ip link set lo up && runuser -u nobody -- env HOME=/tmp/build dpkg-buildpackage -us -uc -b'
mv ../*.deb ../*.changes ../*.buildinfo /out
BUILD
in_chroot build.log build
mv "$work"/out/* "$out"
rmdir "$work/out"
rm -rf "$work/in"

# ---- Looked at, installed, tested, removed -------------------------------------------------------------

look_at imgstat
mkdir -p "$work/in/source"
cp "$out"/*imgstat*_"$version"_*.deb "$work/in"
rm "$work"/in/*-dbgsym_*
tar -xf "$work/tar" -C "$work/in/source" --strip-components 1
cat >"$work/in/try" <<'TRY'
export DEBIAN_FRONTEND=noninteractive
mkdir /out
cd /in/source
files() { find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /in -o -path /out -o -path /tmp -o -path /var/cache/apt \
    -o -path /var/lib/apt -o -path /var/log -o -path '/var/lib/dpkg/*-old' \) -prune -o -print | sort; }
# What the tests and the packages need, so that it does not count; then the packages, by dpkg.
sed -n 's/^Depends: //p' tools/packaging/debian/tests/control | tr ',' '\n' | grep -v imgstat >/tmp/needs
apt-get -qq -y --no-install-recommends install $(cat /tmp/needs)
apt-get -qq -y --no-install-recommends --simulate install /in/*.deb | sed -n 's/^Inst \([^ ]*\).*/\1/p' >/tmp/libraries
apt-get -qq -y --no-install-recommends install $(grep -v imgstat /tmp/libraries)
files >/tmp/before
dpkg -i /in/*.deb
for test in $(sed -n 's/^Tests: //p' tools/packaging/debian/tests/control); do
    AUTOPKGTEST_TMP=$(mktemp -d) sh -c "exec tools/packaging/debian/tests/$test" >"/out/$test.log" 2>&1 || {
        cat "/out/$test.log"
        exit 1
    }
done
for package in /in/*.deb; do dpkg-deb -f "$package" Package; done | xargs dpkg --purge
files >/tmp/after
diff /tmp/before /tmp/after
TRY
in_chroot install.log try
mv "$work"/out/*.log "$out"
echo "In $out:"
ls "$out"
