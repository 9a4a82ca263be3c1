#!/bin/sh
# Builds both images and runs them, on a machine without a container engine or a registry of images:
#   npm run test:images
# The bases are stand-ins: debootstrap makes Debian 12, and this machine's Node and npm are added for
# the stage that installs packages. Needs root, buildah, debootstrap, and dist/svc-node-linux-x64.
# A folder keeps Debian for the next run: npm run test:images -- FOLDER
set -eu
cd "$(dirname "$0")/../.."
fail() {
  echo "error: $1" >&2
  exit 1
}
for tool in buildah debootstrap; do
  command -v "$tool" >/dev/null || fail "$tool is missing. Install the package $tool."
done
[ "$(id -u)" = 0 ] || fail 'debootstrap and chroot need root.'
[ -f dist/svc-node-linux-x64 ] ||
  fail 'dist/svc-node-linux-x64 is missing. Run npm run build:node -- --target linux-x64.'
# Containers of chroot have the network of this machine.
node -e 'require("node:net").createServer().once("error", () => process.exit(1)).listen(8080, function () { this.close() })' ||
  fail 'Port 8080 is in use, and the ICL of the image listens at it. Stop the program that uses it.'

scratch=$(mktemp -d)
folder=${1:-$scratch}
containers=
# All that buildah keeps is in one folder, and goes with it.
tool() { buildah --root "$scratch/images" --runroot "$scratch/run" --storage-driver vfs "$@"; }
cleanup() {
  for id in $containers; do tool rm "$id" >/dev/null || true; done
  rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
step() { printf '\n== %s\n' "$*"; }
run() { tool run --isolation chroot "$@"; }
build() {
  name=$1
  shift
  tool build --format docker --isolation chroot --pull=never --quiet --tag "localhost/$name" "$@" \
    --build-arg BASE_IMAGE=localhost/base-debian --file "packaging/containers/$name.Containerfile" .
}
start() { tool from --pull=never "localhost/$1"; }
entrypoint() {
  tool inspect --type image "localhost/$1" |
    node -e 'console.log(JSON.parse(require("node:fs").readFileSync(0)).OCIv1.config.Entrypoint.join(" "))'
}

step 'The bases'
if [ ! -f "$folder/debian.made" ]; then
  mkdir -p "$folder"
  debootstrap --variant=minbase bookworm "$folder/debian" >"$folder/debootstrap.log" 2>&1 ||
    { tail -n 5 "$folder/debootstrap.log" >&2 && exit 1; }
  touch "$folder/debian.made"
fi
debian=$(tool from scratch)
containers=$debian
tool add --quiet "$debian" "$folder/debian" / >/dev/null
tool config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$debian"
tool commit --quiet "$debian" localhost/base-debian >/dev/null
npm_folder=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
tool copy --quiet "$debian" "$(readlink -f "$(command -v node)")" /usr/local/bin/node >/dev/null
tool copy --quiet "$debian" "$npm_folder" /usr/local/lib/node_modules/npm >/dev/null
run "$debian" -- ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
tool commit --quiet "$debian" localhost/base-node >/dev/null

step 'The node: build, self-check, version'
build node
node=$(start node)
containers="$containers $node"
run "$node" -- /bin/sh -c 'id -u && pwd'
command=$(entrypoint node)
run "$node" -- $command --version
# Without a configuration it ends with 1.
doctor=$(run "$node" -- $command doctor 2>/dev/null) && fail 'doctor needs no configuration.'
echo "$doctor" | grep '^FAIL    config'

step 'The ICL: build'
build icl --build-arg NODE_IMAGE=localhost/base-node \
  ${NODE_EXTRA_CA_CERTS:+--secret "id=ca,src=$NODE_EXTRA_CA_CERTS"}
icl=$(start icl)
containers="$containers $icl"
run "$icl" -- /bin/sh -c 'id -u && pwd && du -sh /app /usr/local/bin/bun && ! find / -xdev -type f -name node -size +1M 2>/dev/null | grep .' ||
  fail 'The image has a second runtime.'

step 'The ICL: run with the settings that have no default'
hex() { node -e 'console.log(require("node:crypto").randomBytes(32).toString("hex"))'; }
address=0x000000000000000000000000000000000000000
cat >"$scratch/probe.sh" <<'PROBE'
"$@" &
icl=$!
for _ in $(seq 60); do
  if bun --no-env-file -e "const answer = await fetch('http://127.0.0.1:8080/readyz').catch(() => process.exit(2)); console.log(answer.status, await answer.text()); process.exit(answer.ok ? 0 : 1)"; then
    kill "$icl" && wait "$icl" && ls -l /data && exit 0
    exit 1
  fi
  kill -0 "$icl" || exit 1
  sleep 1
done
exit 1
PROBE
tool copy --quiet --chmod 0755 "$icl" "$scratch/probe.sh" /usr/local/bin/probe >/dev/null
run --env SVC_ICL_PUBLIC_URL=http://127.0.0.1:8080 --env "SVC_ICL_SECRET=$(hex)" \
  --env SVC_ICL_RPC_URL=http://127.0.0.1:1 --env SVC_ICL_CHAIN_ID=31337 --env "SVC_ICL_COORDINATOR_KEY=0x$(hex)" \
  --env "SVC_ICL_NODE_REGISTRY=${address}1" --env "SVC_ICL_PROMPT_KEY_STORE=${address}2" \
  --env "SVC_ICL_RESULT_REGISTRY=${address}3" \
  "$icl" -- /bin/sh /usr/local/bin/probe $(entrypoint icl)

step 'Both images are built and run.'
