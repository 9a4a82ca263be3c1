import type { Listen } from '../../../icl/start/listening.ts'

/** The way to listen of the runtime that this process is. */
export async function listenHere(): Promise<Listen> {
  if ('Bun' in globalThis) return (await import('../../../icl/start/listen.ts')).listen
  if ('Deno' in globalThis) return (await import('../../../icl/start/listen-deno.ts')).listen
  return (await import('../../../icl/start/listen-node.ts')).listen
}
