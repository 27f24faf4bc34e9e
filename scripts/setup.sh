#!/usr/bin/env bash
# Installs the tools that the tests judge us by: headless Chromium, flatc with its
# C++ headers, a C++ compiler, and the proxies and systemd that the files in deploy/
# are for. Debian and Ubuntu; elsewhere it says what is missing.
set -euo pipefail

missing=()
command -v chromium >/dev/null || missing+=(chromium)
command -v flatc >/dev/null || missing+=(flatbuffers-compiler)
[ -e /usr/include/flatbuffers/flatbuffers.h ] || missing+=(libflatbuffers-dev)
command -v g++ >/dev/null || missing+=(g++)
command -v nginx >/dev/null || missing+=(nginx-light)
command -v caddy >/dev/null || missing+=(caddy)
command -v systemd-analyze >/dev/null || missing+=(systemd)

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	echo "setup: Node 20 or later with npm is needed: https://nodejs.org" >&2
	exit 1
fi
[ ${#missing[@]} -eq 0 ] && exit 0

sudo=()
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null && sudo=(sudo -n)
fi
if command -v apt-get >/dev/null && { [ "$(id -u)" -eq 0 ] || "${sudo[@]:-false}" true 2>/dev/null; }; then
	export DEBIAN_FRONTEND=noninteractive
	"${sudo[@]}" apt-get update -qq
	"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
	exit 0
fi
echo "setup: the tests need these Debian packages or their like: ${missing[*]}" >&2
echo "setup: apt-get cannot be used here; install them and run make test again" >&2
exit 1
