#!/bin/sh
# SPDX-License-Identifier: MIT
# A release, step by step. What is released is the commit that is checked out.
# usage: release.sh versions          every file that has the version has the same one (a test of each build)
#        release.sh check             versions; no changes in the tree; the change log names the version; the interface
#        release.sh verify            two builds in different folders: the same bytes
#        release.sh make [FOLDER]     check, verify, then: tarball, bill of materials, checksums
#        release.sh sign [FOLDER]     signs the checksums, and the commit by the tag vVERSION, with gpg
# FOLDER: build/release-files by default. Packages: tools/package-deb.sh; wheels: tools/python/build-wheels.sh.
# environment: SIGNING_KEY (default: that of git's and gpg's settings)
set -eu
cd "$(dirname "$0")/../.."
command=${1-}
out=${2:-build/release-files}

fail() {
    echo "release.sh: $*" >&2
    exit 1
}

version=$(sed -n 's/^#define IMGSTAT_VERSION_[MP][A-Z]* *\([0-9]*\)$/\1/p' src/imgstat.h | paste -sd .)
name=imgstat-$version

versions() {
    wrong=''
    while read -r file pattern; do
        sed -n "$pattern" "$file" | head -n 1 | grep -qxF "$version" || wrong="$wrong $file"
    done <<'FILES'
docs/CITATION.cff s/^version: //p
tools/packaging/conda/recipe.yaml s/^  version: "\(.*\)"$/\1/p
tools/packaging/debian/changelog s/^imgstat (\(.*\)-[^-]*) .*/\1/p
tools/packaging/debian-contrib/changelog s/^imgstat-contrib (\(.*\)-[^-]*) .*/\1/p
tools/packaging/nix/package.nix s/^  version = "\(.*\)";$/\1/p
tools/packaging/spack/package.py s/^    version("\(.*\)")$/\1/p
FILES
    [ -z "$wrong" ] || fail "src/imgstat.h has version $version, others have:$wrong"
    echo "every file has version $version"
}

check() {
    versions
    [ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed"
    grep -q "^## $version" CHANGELOG.md || fail "CHANGELOG.md has no section '## $version'"
    ! grep -q '^## Unreleased' CHANGELOG.md || fail "CHANGELOG.md has changes that are not released"
    ! grep -q UNRELEASED tools/packaging/debian*/changelog || fail "a Debian package is marked UNRELEASED"
    ! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || fail "the tag v$version exists"
    python3 tests/install/check_abi.py "$(cat tests/install/abi/number)"
}

# tarball FILE: the same bytes from the same commit.
tarball() {
    git archive --prefix="$name/" HEAD | xz -T1 >"$1"
}

# build FOLDER: what is installed, from the tarball, in a folder of that name.
build() {
    mkdir -p "$1"
    tar -xJf "$work/$name.tar.xz" -C "$1"
    (cd "$1/$name" && CCACHE_DISABLE=1 cmake --preset packaging &&
        CCACHE_DISABLE=1 cmake --build --preset packaging &&
        cmake --install build/packaging --prefix "$1/installed") >"$work/log" 2>&1 || {
        tail -n 30 "$work/log" >&2
        fail "the tarball does not build"
    }
}

verify() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' INT TERM
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
    export SOURCE_DATE_EPOCH
    tarball "$work/$name.tar.xz"
    build "$work/one"
    build "$work/another/deeper"
    diff -r "$work/one/installed" "$work/another/deeper/installed" || fail "two builds differ"
    echo "two builds in different folders: $(find "$work/one/installed" -type f | wc -l) files, the same bytes"
}

make_files() {
    check
    verify
    mkdir -p "$out"
    cp "$work/$name.tar.xz" "$out"
    tools/packaging/sbom.py "$work/one/$name/build/packaging" >"$out/$name.cdx.json"
    (cd "$out" && sha256sum "$name".* >SHA256SUMS)
    echo "In $out: $name.tar.xz, $name.cdx.json, SHA256SUMS. Next: release.sh sign"
}

sign() {
    [ -e "$out/SHA256SUMS" ] || fail "there is no $out/SHA256SUMS: release.sh make"
    (cd "$out" && sha256sum --quiet -c SHA256SUMS) || fail "files in $out have changed"
    gpg ${SIGNING_KEY:+--local-user "$SIGNING_KEY"} --armor --detach-sign --output "$out/SHA256SUMS.asc" "$out/SHA256SUMS"
    git tag ${SIGNING_KEY:+--local-user="$SIGNING_KEY"} --sign "v$version" -m "imgstat $version"
    gpg --verify "$out/SHA256SUMS.asc" "$out/SHA256SUMS" && git verify-tag "v$version"
    echo "Signed. To publish: git push origin v$version, and the files of $out"
}

case $command in
versions | check | verify | sign) $command ;;
make) make_files ;;
*) fail "versions, check, verify, make or sign" ;;
esac
