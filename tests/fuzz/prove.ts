import { type RequestSigner, signedHeaders } from '../../lib/request-signature.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { origin, walletOf } from '../icl/test-icl.ts'
import type { Call, Proof, Sender } from './call.ts'
import type { FuzzWorld } from './world.ts'

type Unsigned = Pick<Call, 'method' | 'target' | 'headers' | 'body'>

/** Signs a request, or adds its token, in the way that the proof says: soundly, or so that it must not count. */
export async function prove(
  { icl, dice }: Pick<FuzzWorld, 'icl' | 'dice'>,
  call: Unsigned,
  sender: Sender | undefined,
  proof: Proof,
): Promise<Unsigned> {
  if (sender === undefined || proof === 'open' || proof === 'missing') return call
  if (sender.kind === 'token') {
    const token = proof === 'sound' ? sender.token : damaged(sender.token)
    const headers = new Headers(call.headers)
    headers.set('authorization', `Bearer ${token}`)
    return { ...call, headers }
  }
  const now = Math.floor(icl.clock.now() / 1000)
  const created = proof === 'stale' ? now + dice.pick([-4_000, -400, 90, 4_000]) : now
  const signer = proof === 'wrong key' ? await withWrongKey(sender) : sender
  const { method, target, headers, body } = call
  const signed = await signedHeaders(
    { method, url: new URL(origin + target), headers, ...(body && { body }) },
    signer,
    { created, nonce: dice.bytes(16) },
  )
  const whole = { ...call, headers: signed }
  return proof === 'tampered' ? tamper(whole, dice.pick(['target', 'signature', 'created'])) : whole
}

function tamper(call: Unsigned, what: string): Unsigned {
  const { target, headers } = call
  if (what === 'target')
    return { ...call, target: `${target}${target.includes('?') ? '&' : '?'}z=1` }
  const changed = new Headers(headers)
  const name = what === 'signature' ? 'signature' : 'signature-input'
  const value = headers.get(name) ?? ''
  changed.set(
    name,
    what === 'signature'
      ? value.replace(/:([A-Za-z0-9+/])/, (_, first: string) => `:${first === 'A' ? 'B' : 'A'}`)
      : value.replace(/created=(\d+)/, (_, created: string) => `created=${Number(created) - 1}`),
  )
  return { ...call, headers: changed }
}

const damaged = (token: string): string => (token.startsWith('A') ? 'B' : 'A') + token.slice(1)

/** The same caller by name, with a key that is not its own. */
async function withWrongKey(signer: RequestSigner): Promise<RequestSigner> {
  if (signer.kind === 'node' && signer.requestKey) {
    return { ...signer, requestKey: new Uint8Array(32).fill(77) }
  }
  if (signer.kind === 'node') {
    return { ...signer, key: await signingKeyFromSeed(new Uint8Array(32).fill(77)) }
  }
  const { account } = walletOf('stranger')
  return { ...signer, signMessage: ({ raw }) => account.signMessage({ message: { raw } }) }
}
