import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { type LocalServer, startServer } from './local-server.ts'

const pack: Readonly<Record<string, (text: string) => Uint8Array>> = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
}

/** A server that packs its answers although it was asked not to, as its path says and else with gzip. Unpacked they answer most callers. */
export const startPackedServer = (): Promise<LocalServer> =>
  startServer((response, { path }) => {
    const named = path.slice(1)
    const encoding = named in pack ? named : 'gzip'
    const bytes = pack[encoding]?.('{"jsonrpc":"2.0","id":1,"result":"0x1","models":[]}')
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
    response.writeHead(200, headers).end(bytes)
  })
