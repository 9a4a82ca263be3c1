#!/usr/bin/env bash
# @hpke/core 1.9.0 (HPKE, RFC 9180) needs Web Crypto only, and falls back to `await import("crypto")` where there is none. Bun 1.4.5 bundles
# a polyfill of Node's crypto for that import when it builds for browsers, although no browser reaches it: over half a megabyte, minified.
# `--external crypto` leaves the polyfill in. With esbuild 0.25.12 and the import external a bundle is a twentieth of it.
#
# Seen on 28 November 2026, Linux x64, minified: Bun 554,127 bytes, with `--external crypto` the same, esbuild 27,489. Ends with 1 when this
# changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private":true}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @hpke/core@1.9.0 @oven/bun-linux-x64@1.4.5 esbuild@0.25.12 @esbuild/linux-x64@0.25.12
cat >entry.js <<'JS'
import { Aes256Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from '@hpke/core'
export const suite = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes256Gcm() })
JS
bun=node_modules/@oven/bun-linux-x64/bin/bun
esbuild=node_modules/@esbuild/linux-x64/bin/esbuild
chmod +x "$bun" "$esbuild"
"$bun" build entry.js --target=browser --minify --outfile=bun.js >/dev/null
"$bun" build entry.js --target=browser --minify --external crypto --outfile=bun-external.js >/dev/null
"$esbuild" entry.js --bundle --format=esm --platform=browser --minify --external:crypto --outfile=esbuild.js --log-level=error
size() { wc -c <"$1" | tr -d ' '; }
plain=$(size bun.js) external=$(size bun-external.js) other=$(size esbuild.js)
echo "Bun: $plain bytes, with --external crypto: $external, esbuild: $other"
((plain > 500000 && external > 500000 && other < 60000)) || { echo 'This has changed.'; exit 1; }
